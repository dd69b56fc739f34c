//! Measurements as text.

use std::collections::BTreeMap;

use count::Backend;
use farm::Method;

use super::Line;
use anyhow::Result;

use crate::print;

/// Prints all lines of one board. Ratios are relative to `unit`.
pub(crate) fn board(lines: &[&Line], unit: &Line, hz: Option<f64>) -> Result<()> {
    let n = lines[0].n;
    print(format_args!(
        "\nN = {n}, one core; the unit is {} by {} at N = {}, {:.2e} Q/s",
        unit.method,
        unit.backend,
        unit.n,
        unit.rate()
    ))?;
    print(
        "method          backend    of the plan       Q/s      ratio   cycles/Q   nodes/Q   peak MiB",
    )?;
    for line in lines {
        let (rate, ratio) = (line.rate(), line.rate() / unit.rate());
        print(format_args!(
            "{:<16}{:<11}{:>11}{rate:>10.2e}{ratio:>9.1} x{:>11}{:>10}{:>11}",
            line.method.to_string(),
            line.backend,
            percent(line.fitted.share),
            or_dash(hz.map(|hz| hz / rate)),
            or_dash(line.nodes()),
            or_dash(line.process.peak_mib()),
        ))?;
    }
    Ok(())
}

/// A percentage with two decimal places, or in scientific notation if it is below 0.01%.
fn percent(share: f64) -> String {
    match 100.0 * share {
        small if small < 0.01 => format!("{small:.1e}%"),
        percent => format!("{percent:.2}%"),
    }
}

fn or_dash(figure: Option<f64>) -> String {
    figure.map_or("-".into(), |figure| format!("{figure:.1}"))
}

/// The rate of `halves` by its fastest backend on each board, relative to every other board.
pub(crate) fn halves(lines: &[Line]) -> Result<()> {
    let best = fastest(lines.iter().filter(|line| line.method == Method::Halves));
    if best.len() < 2 {
        return Ok(());
    }
    print("\nhalves by its fastest backend: Q/s of the row in Q/s of the column")?;
    let heads = best.keys().map(|n| format!("{:>10}", format!("N = {n}")));
    print(format_args!("N   backend    {}", heads.collect::<String>()))?;
    for (n, (backend, rate)) in &best {
        let ratios = best.values().map(|(_, other)| format!("{:>10.2}", rate / other));
        print(format_args!("{n:<4}{backend:<11}{}", ratios.collect::<String>()))?;
    }
    Ok(())
}

fn fastest<'a>(lines: impl Iterator<Item = &'a Line>) -> BTreeMap<u32, (Backend, f64)> {
    let mut best: BTreeMap<u32, (Backend, f64)> = BTreeMap::new();
    for line in lines {
        let known = best.entry(line.n).or_insert((line.backend, line.rate()));
        if line.rate() > known.1 {
            *known = (line.backend, line.rate());
        }
    }
    best
}
