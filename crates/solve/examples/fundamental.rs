//! Lists the essentially different placements of N queens, one of each orbit under the symmetries of the
//! square.
//!
//! ```sh
//! cargo run --example fundamental -- 8
//! ```

use std::error::Error;
use std::ops::ControlFlow;

use queens_solve::{Listing, Notation};

fn main() -> Result<(), Box<dyn Error>> {
    let n = std::env::args().nth(1).map_or(Ok(8), |word| word.parse())?;
    let listing = Listing::new(n, vec![])?.fundamental();
    let _: ControlFlow<()> = listing.visit(|placement| {
        let squares = Notation::Squares.of(placement);
        println!(
            "{squares}  {}, orbit of {}",
            placement.symmetry_class().name(),
            placement.orbit_size()
        );
        ControlFlow::Continue(())
    });
    Ok(())
}
