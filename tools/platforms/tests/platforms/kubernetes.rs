//! Tests the Kubernetes manifests without a cluster: against the schemas, for privileges, and that
//! the program takes the arguments of each container.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::docker::{TOP, run};
use crate::process::queens;

#[test]
#[ignore = "needs tools from PyPI: .ci/nightly containers"]
fn the_containers_have_valid_arguments_and_no_needless_privilege() {
    // The check makes and validates the manifests. All components are in one overlay.
    run(&mut Command::new(Path::new(TOP).join("deploy/kubernetes/check")));
    for folder in ["all", "shards"] {
        let path = Path::new(TOP).join(format!("target/kubernetes/{folder}.json"));
        let text = fs::read_to_string(path).expect("the check wrote it");
        let objects: Vec<Value> = serde_json::from_str(&text).expect("it is JSON");
        let jobs = objects.iter().flat_map(|it| [&it["spec"], &it["spec"]["jobTemplate"]["spec"]]);
        let pods: Vec<&Value> =
            jobs.map(|job| &job["template"]["spec"]).filter(|pod| pod.is_object()).collect();
        assert!(pods.len() > 1, "{folder} has too few pods: {text}");
        for pod in pods {
            assert_eq!(pod["automountServiceAccountToken"], false);
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
            let container = &pod["containers"][0];
            assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
            assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
            assert_eq!(container["securityContext"]["capabilities"]["drop"][0], "ALL");
            assert!(container["resources"]["limits"]["memory"].is_string(), "{container}");

            // The program looks at all other arguments before it helps.
            let args = container["args"].as_array().expect("the program has arguments");
            let args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
            run(queens(&args).arg("--help"));
        }
    }
}
