//! Chooses the license of an object that combines the programs of several objects.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::license::{gpl_only_call, is_gpl_compatible};
use thiserror::Error;

/// Beginning of license names that offer a choice between the GPL and another license.
const DUAL: &str = "Dual ";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Licensed<'a> {
    /// Name of the program in the chain.
    pub name: &'a str,
    /// License of the object; `None` if the object states none.
    pub license: Option<&'a str>,
    pub program: &'a BpfProgram,
}

/// Reason why the programs cannot be combined in one object, which has only one license.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum LicenseError {
    /// The kernel loads one of the programs only under the GPL, but the license of another program
    /// is not compatible with the GPL.
    #[error(
        "{needs} calls {call}, which the kernel reserves for programs under the GPL, \
         but {other} is {license}: an object has only one license"
    )]
    NeedsGpl {
        /// Name of the program that needs the GPL.
        needs: String,
        /// Name of the function that this program calls, which the kernel offers only under the
        /// GPL.
        call: String,
        /// Name of the program whose license is not compatible with the GPL.
        other: String,
        /// License of `other`, in words.
        license: String,
    },
    /// Two programs have different licenses, and neither license includes the other.
    #[error(
        "{one} is {first} and {other} is {second}: an object has only one license; give both the \
         same, or load them one after the other"
    )]
    Differ {
        /// Name of one of the programs.
        one: String,
        /// License of `one`, in words.
        first: String,
        /// Name of another program.
        other: String,
        /// License of `other`, in words.
        second: String,
    },
}

/// Returns the license for an object that contains all given programs. This is their common
/// license, or the license that all other licenses include. If the licenses differ but all are
/// compatible with the GPL, it is the GPL. Returns `None` if no program has a license.
///
/// # Errors
/// See [`LicenseError`]. Only the authors may choose another license for a program.
pub(crate) fn joint_license(programs: &[Licensed<'_>]) -> Result<Option<String>, LicenseError> {
    let compatible = |of: &&Licensed<'_>| of.license.is_some_and(is_gpl_compatible);
    let other = programs.iter().find(|of| !compatible(of));
    let needs = programs.iter().find_map(|of| Some((of, gpl_only_call(of.program)?)));
    if let (Some((needs, call)), Some(other)) = (needs, other) {
        return Err(LicenseError::NeedsGpl {
            needs: needs.name.to_owned(),
            call: call.to_owned(),
            other: other.name.to_owned(),
            license: words(other.license),
        });
    }
    let Some(first) = programs.first() else { return Ok(None) };
    if let Some(different) = programs.iter().find(|of| of.license != first.license) {
        // The joint license is the GPL if all licenses are compatible with it, otherwise the
        // incompatible license.
        let strict = programs.iter().find(|of| compatible(of) && !is_dual(of.license));
        let joint = other.map_or_else(
            || Some(strict.and_then(|of| of.license).unwrap_or("GPL")),
            |other| other.license,
        );
        let includes = |of: &Licensed<'_>| {
            other.is_none() || of.license == joint || of.license.zip(joint).is_some_and(leaves)
        };
        if !programs.iter().all(includes) {
            return Err(LicenseError::Differ {
                one: first.name.to_owned(),
                first: words(first.license),
                other: different.name.to_owned(),
                second: words(different.license),
            });
        }
        return Ok(joint.map(str::to_owned));
    }
    Ok(first.license.map(str::to_owned))
}

fn is_dual(license: Option<&str>) -> bool {
    license.is_some_and(|license| license.starts_with(DUAL) && is_gpl_compatible(license))
}

/// Returns true if `license` is a dual license under which the user may choose `other`. For
/// example, `Dual MIT/GPL` permits the choice of `MIT`.
fn leaves((license, other): (&str, &str)) -> bool {
    let choices = license.strip_prefix(DUAL).and_then(|both| both.strip_suffix("/GPL"));
    is_dual(Some(license)) && choices == Some(other)
}

fn words(license: Option<&str>) -> String {
    license.map_or_else(
        || "without a license".to_owned(),
        |license| format!("under the license {:?}", license),
    )
}

#[cfg(test)]
mod tests {
    use super::{LicenseError, Licensed, joint_license};
    use slowpath_bpf::insn::helper::{MAP_LOOKUP_ELEM, PERF_EVENT_OUTPUT};
    use slowpath_bpf::insn::{Call, Insn};
    use slowpath_bpf::{BpfProgram, ProgramKind};

    fn program(call: Call) -> BpfProgram {
        BpfProgram {
            number: 0,
            name: "p".to_owned(),
            section: "xdp".to_owned(),
            kind: ProgramKind::Xdp,
            insns: vec![Insn::Call(call), Insn::Exit],
            lines: vec![None; 2],
            subprograms: Vec::new(),
            kfuncs: vec!["bpf_xdp_metadata_rx_hash".to_owned()],
            unresolved: Vec::new(),
        }
    }

    fn joint(all: &[(Option<&str>, &BpfProgram)]) -> Result<Option<String>, LicenseError> {
        let named = ["a", "b", "c"].into_iter().zip(all);
        let programs: Vec<Licensed<'_>> =
            named.map(|(name, &(license, program))| Licensed { name, license, program }).collect();
        joint_license(&programs)
    }

    #[test]
    fn programs_that_need_the_gpl_are_not_given_another_license() {
        let plain = program(Call::Helper(MAP_LOOKUP_ELEM));
        for call in [Call::Helper(PERF_EVENT_OUTPUT), Call::Kfunc { id: 0, module: 0 }] {
            let needs = program(call);
            for other in [Some("Proprietary"), Some("gpl"), Some(""), None] {
                for all in [
                    [(other, &plain), (Some("GPL"), &needs)],
                    [(Some("Dual BSD/GPL"), &needs), (other, &plain)],
                ] {
                    let error = joint(&all).expect_err("they need different licenses");
                    assert!(matches!(error, LicenseError::NeedsGpl { .. }), "{error}");
                }
            }
            let both = [(Some("Dual BSD/GPL"), &plain), (Some("GPL"), &needs)];
            assert_eq!(joint(&both), Ok(Some("GPL".to_owned())));
        }
    }

    #[test]
    fn no_program_is_given_a_license_that_its_object_does_not_have() {
        let plain = program(Call::Helper(MAP_LOOKUP_ELEM));
        let joint = |licenses: &[Option<&str>]| {
            joint(&licenses.iter().map(|&license| (license, &plain)).collect::<Vec<_>>())
        };
        let is = |license: &str| Ok(Some(license.to_owned()));
        assert_eq!(joint(&[Some("Proprietary"), Some("Proprietary")]), is("Proprietary"));
        assert_eq!(joint(&[None, None]), Ok(None));
        assert_eq!(joint(&[Some("GPL"), Some("Dual MIT/GPL"), Some("GPL v2")]), is("GPL"));
        assert_eq!(joint(&[Some("Dual MIT/GPL"), Some("Dual BSD/GPL")]), is("GPL"));
        assert_eq!(joint(&[Some("Dual MIT/GPL"), Some("MIT")]), is("MIT"));
        let differ = [
            [Some("GPL"), Some("Proprietary")],
            [Some("Proprietary"), Some("GPL")],
            [Some("GPL"), None],
            [None, Some("MIT")],
            [Some("MIT"), Some("Apache-2.0")],
            [Some("Dual BSD/GPL"), Some("Proprietary")],
        ];
        for licenses in differ {
            let error = joint(&licenses).expect_err("one object has one license");
            assert!(matches!(error, LicenseError::Differ { .. }), "{licenses:?}: {error}");
        }
        let three = [Some("Dual BSD/GPL"), Some("GPL"), Some("MIT")];
        assert!(joint(&three).is_err());
    }
}
