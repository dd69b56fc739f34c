//! Reads bytes as messages of every kind, as far as both ends go with them.

use std::fmt::Debug;

use board::{MethodChoice, PlanIndex, Problem};
use farm::{AuditScope, Change, CoordinatorMessage, JobView, WorkerMessage};
use ledger::Credential;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use service::api::{
    Distrusted, Jobs, MadeToken, NewToken, Patch, ProblemDetails, Submit, Tokens, Trust, Workers,
};
use service::wire::{WireError, v1};

/// A kind of message and what reads it.
pub struct Reader {
    /// The message's name: that of its gRPC type, or of its schema in `docs/openapi.json`.
    pub name: &'static str,
    /// Reads bytes so, and panics where what was read is not what it is when written and read
    /// again.
    pub read: fn(&[u8]),
}

/// A reader of JSON that converts to something else, or that is just read.
macro_rules! json {
    ($name:literal, $message:ty) => {
        json!($name, $message, |_| ())
    };
    ($name:literal, $message:ty, $convert:expr) => {
        Reader { name: $name, read: |bytes| json::<$message, _>(bytes, $convert) }
    };
}

/// The messages of workers and the coordinator; then requests of clients, and answers.
pub const READERS: &[Reader] = &[
    Reader {
        name: "WorkRequest",
        read: |bytes| grpc::<v1::WorkRequest, _>(bytes, WorkerMessage::try_from),
    },
    Reader { name: "WorkResponse", read: |bytes| grpc(bytes, order) },
    json!("Submit", Submit, submission),
    json!("Patch", Patch, change),
    json!("Trust", Trust, |trust| farm::reason(&trust.reason)),
    json!("NewToken", NewToken),
    json!("Job", JobView, job),
    json!("Jobs", Jobs),
    json!("Workers", Workers),
    json!("Distrusted", Distrusted),
    json!("Token", Credential),
    json!("Tokens", Tokens),
    json!("MadeToken", MadeToken),
    json!("ProblemDetails", ProblemDetails),
];

/// Reads a gRPC message and converts it to one of our own types.
fn grpc<M, T>(bytes: &[u8], convert: fn(M) -> Result<T, WireError>)
where
    M: Message + Default + PartialEq + Debug,
    T: PartialEq + Debug,
{
    let Ok(message) = M::decode(bytes) else { return };
    let again = M::decode(message.encode_to_vec().as_slice()).expect("it was just encoded");
    assert!(again == message, "{message:?} became {again:?}");
    let converted = convert(message);
    assert_eq!(converted, convert(again));
    if let Err(refusal) = converted {
        assert!(!refusal.to_string().is_empty());
    }
}

fn order(response: v1::WorkResponse) -> Result<CoordinatorMessage, WireError> {
    let order = CoordinatorMessage::try_from(response)?;
    assert_eq!(
        CoordinatorMessage::try_from(v1::WorkResponse::from(order.clone())),
        Ok(order.clone())
    );
    Ok(order)
}

/// Reads JSON and converts what was read.
fn json<M, T>(bytes: &[u8], convert: fn(&M) -> T)
where
    M: Serialize + DeserializeOwned,
    T: PartialEq + Debug,
{
    let Ok(message) = serde_json::from_slice::<M>(bytes) else { return };
    let text = serde_json::to_string(&message).expect("it can be written");
    let again: M = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let [first, second] =
        [&message, &again].map(|message| serde_json::to_value(message).expect("it can be written"));
    assert!(are_alike(&first, &second), "{first} became {second}");
    assert_eq!(convert(&message), convert(&again));
}

/// Whether two values are the same, but for the last digits of numbers with a fraction.
fn are_alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let [a, b] = [a, b].map(|number| number.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= 1e-12 * a.abs()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_in_b = |(name, a)| b.get(name).is_some_and(|b| are_alike(a, b));
            a.len() == b.len() && a.iter().all(is_in_b)
        }
        _ => a == b,
    }
}

/// What a client says of a job.
fn job(job: &JobView) -> (String, Vec<String>) {
    assert!(job.percent() >= 0.0, "{}", job.percent());
    (job.state_name().into(), job.remarks())
}

fn change(patch: &Patch) -> Result<Change, String> {
    let change = patch.change(1, AuditScope::Machines)?;
    if let Change::Audit { policy, .. } = change {
        assert!(policy.share_ppm <= farm::AuditPolicy::ALL, "{policy:?}");
    }
    Ok(change)
}

/// As far as a plan, where that takes no time.
fn submission(request: &Submit) -> Result<(Problem, MethodChoice, Option<String>), String> {
    const SMALL: u32 = 7;
    let (problem, choice) = request.problem()?;
    if problem.n() <= SMALL || problem.n() > board::Given::MAX_N {
        let method = choice.for_problem(problem);
        let index = PlanIndex::new(problem, method);
        assert_eq!(index.is_ok(), method.cuts(problem), "{problem} by {method}");
    }
    assert_eq!(Problem::from_text(&problem.text(), problem.n()), Some(problem));
    if let Some(wish) = request.audit {
        Patch { audit: Some(wish), ..Patch::default() }.change(1, AuditScope::Machines)?;
    }
    Ok((problem, choice, request.key()?))
}
