//! Formats the results of searches, as a table for people and as CSV.

use crate::measured::Row;

pub fn heading() -> String {
    format!(
        "{:28} {:20} {:>10} {:>10} {:>10} {:>8}  result",
        "program", "variant", "seconds", "candidates", "checks", "nogoods"
    )
}

pub fn line(program: &str, row: &Row) -> String {
    let variant = row.variant;
    let Some((run, seconds)) = row.runs.last().zip(row.seconds()) else {
        return format!("{program:28} {variant:20} {:>41}  {}", "", row.result());
    };
    format!(
        "{program:28} {variant:20} {seconds:10.4} {:10} {:10} {:8}  {}",
        run.candidates,
        run.solver_checks,
        run.nogoods,
        row.result()
    )
}

pub fn csv_heading() -> String {
    "program,variant,seconds,candidates,solver_checks,nogoods,result\n".into()
}

pub fn csv_line(program: &str, row: &Row) -> String {
    let figures = match row.runs.last().zip(row.seconds()) {
        Some((run, seconds)) => {
            format!("{seconds:.6},{},{},{}", run.candidates, run.solver_checks, run.nogoods)
        }
        None => ",,,".into(),
    };
    format!("{},{},{figures},{}\n", field(program), field(row.variant), field(row.result()))
}

/// Quotes a field of the CSV file if necessary.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
