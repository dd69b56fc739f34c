//! Lists the essentially different placements of N queens, one of each orbit under the symmetries
//! of the square.
//!
//! ```sh
//! cargo run --example fundamental -- 8
//! ```

use std::error::Error;

use queens_solve::{Notation, Solutions};

fn main() -> Result<(), Box<dyn Error>> {
    let n: u32 = std::env::args().nth(1).map_or(Ok(8), |word| word.parse())?;
    for placement in Solutions::fundamental(n) {
        let squares = Notation::Squares.of(&placement);
        println!(
            "{squares}  {}, orbit of {}",
            placement.symmetry_class().name(),
            placement.orbit().len()
        );
    }
    Ok(())
}
