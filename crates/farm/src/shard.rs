//! Shards as JSON, for the `with` of serde.

use board::Shard;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use utoipa::ToSchema;

/// One of several equal parts of every plan: blocks of ordinals, dealt like cards, because tasks of
/// neighbouring ordinals are alike.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Shard)]
pub(crate) struct ShardText {
    /// Its number, from 1 on.
    shard: u32,
    /// How many there are. The only one of one is the whole plan.
    shards: u32,
}

pub(crate) fn serialize<S: Serializer>(shard: &Shard, serializer: S) -> Result<S::Ok, S::Error> {
    ShardText { shard: shard.index(), shards: shard.of() }.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Shard, D::Error> {
    let ShardText { shard, shards } = ShardText::deserialize(deserializer)?;
    Shard::new(shard, shards).map_err(D::Error::custom)
}
