//! Completes a board on which some queens stand already, or proves that it cannot be completed.
//!
//! ```sh
//! cargo run --release --example complete -- 20 c1 j2
//! ```

use std::error::Error;

use queens_solve::board::Square;
use queens_solve::{Notation, Start, complete};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let n = words.next().map_or(Ok(8), |word| word.parse())?;
    let queens: Vec<Square> = words.map(|word| word.parse()).collect::<Result<_, _>>()?;
    match complete(&Start::new(n, &queens)?) {
        Some(placement) => println!("{}", Notation::Board.of(&placement)),
        None => println!("no placement has these queens"),
    }
    Ok(())
}
