//! Placements as stored by serde.

use queens_solve::Placement;
use serde_json::{from_str, to_string};

#[test]
fn a_placement_is_stored_as_its_columns_and_read_back_if_it_is_one() {
    let placement = Placement::new(vec![1, 3, 0, 2]).expect("it is one");
    assert_eq!(to_string(&placement).expect("it is written"), "[1,3,0,2]");
    assert_eq!(from_str::<Placement>("[1,3,0,2]").expect("it was written so"), placement);
    for columns in ["[0,1]", "[4]", "[1,3,0]", "[0,0]"] {
        assert!(from_str::<Placement>(columns).is_err(), "{columns}");
    }
}
