//! Tests how serde stores placements.

use queens_solve::Placement;
use serde_json::{from_str, to_string};

#[test]
fn a_placement_is_stored_as_its_columns_and_checked_when_read() {
    let placement = Placement::new(vec![1, 3, 0, 2]).expect("it is one");
    assert_eq!(to_string(&placement).expect("it is written"), "[1,3,0,2]");
    assert_eq!(from_str::<Placement>("[1,3,0,2]").expect("it was written so"), placement);
    for columns in ["[0,1]", "[4]", "[1,3,0]", "[0,0]"] {
        assert!(from_str::<Placement>(columns).is_err(), "{columns}");
    }
}
