//! Descriptions of network functions and competitors: the work for each packet.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::NicError;

const BUILT_IN: [(&str, &str); 2] = [
    ("network-functions", include_str!("../functions/network-functions.toml")),
    ("competitors", include_str!("../functions/competitors.toml")),
];

/// A network function. A comment in `functions/network-functions.toml` describes the format.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Name of the function.
    pub name: String,
    /// Framework of the function's implementation.
    pub framework: String,
    /// True if the function receives packets from the network; if false, it runs in rounds without
    /// packets.
    #[serde(default = "yes")]
    pub receives: bool,
    /// Cycles per instruction if all data are in the level-1 cache.
    pub cycles_per_instruction: f64,
    /// Loads per instruction.
    pub reads: f64,
    /// Stores per instruction.
    pub writes: f64,
    /// Memory regions by name.
    #[serde(default)]
    pub regions: BTreeMap<String, Region>,
    /// Stages of the processing pipeline, executed by different threads one after the other.
    #[serde(rename = "stage")]
    pub stages: Vec<Stage>,
}

/// A memory region of a function.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Kind, which determines the size and the layout of the region.
    pub kind: RegionKind,
    /// Bytes for each flow, for each bucket, or in total, depending on the kind.
    #[serde(default)]
    pub bytes: u64,
}

/// Size and layout of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegionKind {
    /// An array with [`Region::bytes`] bytes for each flow.
    Flow,
    /// Hash buckets of [`Region::bytes`] bytes each; there are as many as flows, rounded up to a
    /// power of two.
    Buckets,
    /// A table of [`Region::bytes`] bytes in total. Hashes of the flow select the accessed lines,
    /// so a flow always uses the same lines.
    Table,
    /// An array as large as the client's working set; each thread uses its own part.
    Array,
}

/// A part of a packet's processing, with threads that execute only this part.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Number of threads, each on its own core.
    pub threads: usize,
    /// Accelerator that packets pass through before they reach this stage.
    pub through: Option<String>,
    /// Processing steps, executed one after the other for each packet.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// A step of the processing of a packet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Instructions for each packet.
    #[serde(default)]
    pub instructions: f64,
    /// Instructions for each byte of payload.
    #[serde(default)]
    pub instructions_per_byte: f64,
    /// Name of the region whose lines the step touches, or `packet`.
    pub touches: Option<String>,
    /// Number of cache lines that the step touches for each packet.
    #[serde(default)]
    pub lines: u32,
    /// True if the step touches all cache lines of the packet; [`Step::lines`] is then 0.
    #[serde(default)]
    pub payload: bool,
    /// Dependences between the touched lines.
    pub order: Option<Order>,
    /// Share of the touched cache lines that the step writes.
    #[serde(default)]
    pub writes: f64,
    /// Accelerator that receives the payload; in this step, the thread only waits for its reply.
    pub call: Option<String>,
}

/// Dependences between the lines that a step touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each cache line contains the address of the next one.
    Chase,
    /// The addresses of all cache lines are known at the start.
    Parallel,
    /// Cache lines are consecutive, so a prefetcher fetches them in advance.
    Stream,
}

/// Name of the packet region, which every receiving function has.
pub const PACKET: &str = "packet";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    function: Vec<Function>,
}

/// All known network functions and competitors, by name.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    known: BTreeMap<String, Function>,
}

impl Functions {
    /// Returns the built-in network functions and competitors.
    ///
    /// # Errors
    ///
    /// None; a test checks that they are valid.
    pub fn built_in() -> Result<Self, NicError> {
        let mut all = Functions::default();
        for (name, text) in BUILT_IN {
            all.add(name, text)?;
        }
        Ok(all)
    }

    /// Adds the functions of a description.
    ///
    /// # Errors
    ///
    /// If the description is invalid, or a function with an equal name exists.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), NicError> {
        let file: File = toml::from_str(text).map_err(|error| NicError::Unreadable {
            name: name.into(),
            reason: error.to_string(),
        })?;
        for function in file.function {
            function.check()?;
            if self.known.contains_key(&function.name) {
                return Err(NicError::impossible(function.name, "there are two of this name"));
            }
            self.known.insert(function.name.clone(), function);
        }
        Ok(())
    }

    /// Returns the function with this name, if it is known.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.known.get(name)
    }

    /// Returns the names of all functions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }
}

impl Function {
    /// Returns the number of cores that the function needs.
    pub fn threads(&self) -> usize {
        self.stages.iter().map(|stage| stage.threads).sum()
    }

    fn check(&self) -> Result<(), NicError> {
        let number = |what: &str, value: f64, most: f64| {
            if (0.0..=most).contains(&value) {
                return Ok(());
            }
            let reason = format!("{what}: {value} is not between 0 and {most}");
            Err(NicError::impossible(self.name.clone(), reason))
        };
        let refuse = |reason: String| Err(NicError::impossible(self.name.clone(), reason));
        number("cycles_per_instruction", self.cycles_per_instruction, 100.0)?;
        number("reads", self.reads, 1.0)?;
        number("writes", self.writes, 1.0)?;
        if self.stages.is_empty() || self.stages[0].through.is_some() {
            return refuse(
                "the first stage is behind no accelerator, and there has to be one".into(),
            );
        }
        for (name, region) in &self.regions {
            number(&format!("regions.{name}.bytes"), region.bytes as f64, 1e11)?;
            if (region.bytes == 0) != (region.kind == RegionKind::Array) || name == PACKET {
                return refuse(format!(
                    "regions.{name}: needs a size, or is an array; not `packet`"
                ));
            }
        }
        for stage in &self.stages {
            number("threads", stage.threads as f64, 1024.0)?;
            if stage.threads == 0 || !stage.steps.iter().any(|step| step.instructions >= 1.0) {
                return refuse(
                    "each stage has a thread, and a step of an instruction or more".into(),
                );
            }
            for step in &stage.steps {
                number("instructions", step.instructions, 1e7)?;
                number("instructions_per_byte", step.instructions_per_byte, 1e4)?;
                number("writes", step.writes, 1.0)?;
                number("lines", f64::from(step.lines), 4096.0)?;
                self.check_touched(step)?;
            }
        }
        Ok(())
    }

    fn check_touched(&self, step: &Step) -> Result<(), NicError> {
        let refuse = |reason: &str| Err(NicError::impossible(self.name.clone(), reason));
        let Some(name) = &step.touches else {
            return match step.lines > 0 || step.payload || step.order.is_some() {
                true => refuse("a step has lines and an order, but touches nothing"),
                false => Ok(()),
            };
        };
        if step.call.is_some() {
            return refuse("a step either calls an accelerator or touches lines");
        }
        if (step.lines > 0) == step.payload || step.order.is_none() {
            return refuse("a step that touches a region has an order, and lines or the payload");
        }
        if name == PACKET {
            return match self.receives {
                true => Ok(()),
                false => refuse("there is no packet where none is received"),
            };
        }
        if step.payload {
            return refuse("only packets have a payload");
        }
        if self.regions.contains_key(name) {
            return Ok(());
        }
        Err(NicError::Unknown {
            place: self.name.clone(),
            what: "region",
            name: name.clone(),
            known: self.regions.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::Functions;

    #[test]
    fn all_functions_of_the_paper_come_along() {
        let functions = Functions::built_in().expect("they are valid");
        // Functions of Table 1 and of section 6, and our own competitor `packet-bench`.
        let wanted = [
            "FlowStats",
            "IPRouter",
            "IPTunnel",
            "NAT",
            "FlowMonitor",
            "NIDS",
            "IPCompGateway",
            "ACL",
            "FlowClassifier",
            "FlowTracker",
            "PacketFilter",
            "mem-bench",
            "regex-bench",
            "compression-bench",
            "packet-bench",
        ];
        for name in wanted {
            assert_eq!(functions.get(name).map(super::Function::threads), Some(2), "{name}");
        }
    }

    #[test]
    fn wrong_functions_are_named() {
        let one = |stage: &str| {
            format!(
                "[[function]]\nname = \"f\"\nframework = \"x\"\ncycles_per_instruction = 1.0\n\
                 reads = 0.1\nwrites = 0.1\nregions.a = {{ kind = \"flow\", bytes = 64 }}\n\
                 [[function.stage]]\n{stage}"
            )
        };
        let wrong = [
            "threads = 0\nstep = [{ instructions = 1 }]",
            "threads = 1\nstep = []",
            "threads = 1\nthrough = \"regex\"\nstep = [{ instructions = 1 }]",
            "threads = 1\nstep = [{ instructions = 1, touches = \"b\", lines = 1, order = \"chase\" }]",
            "threads = 1\nstep = [{ instructions = 1, touches = \"a\", order = \"chase\" }]",
            "threads = 1\nstep = [{ instructions = 1, touches = \"a\", lines = 1 }]",
            "threads = 1\nstep = [{ instructions = 1, lines = 1 }]",
            "threads = 1\nstep = [{ instructions = -1 }]",
            "threads = 1\nstep = [{ instructions = 1, writes = 2.0 }]",
            "threads = 1\nstep = [{ instructions = 1, touches = \"a\", payload = true, order = \"chase\" }]",
        ];
        for stage in wrong {
            let error = Functions::default().add("test", &one(stage)).expect_err(stage);
            assert!(error.to_string().starts_with("f: "), "{stage}: {error}");
        }
        let mut functions = Functions::default();
        let right = one("threads = 1\nstep = [{ instructions = 1 }]");
        functions.add("test", &right).expect("it is right");
        assert!(functions.add("test", &right).is_err());
    }
}
