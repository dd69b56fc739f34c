//! Manifests, and their containers under the compose tool.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::{LazyLock, MutexGuard};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::docker::{IMAGE, TOP, compose, containers, machine, run};

/// What kustomize makes of a folder.
pub(super) struct Manifests(Vec<Value>);

impl Manifests {
    /// The manifests of `deploy/kubernetes/FOLDER`, after the strict check.
    pub(super) fn of(folder: &str) -> Manifests {
        static CHECKED: LazyLock<()> = LazyLock::new(|| {
            run(&mut Command::new(Path::new(TOP).join("deploy/kubernetes/check")));
        });
        LazyLock::force(&CHECKED);
        let path = Path::new(TOP).join(format!("target/kubernetes/{folder}.json"));
        let text = fs::read_to_string(&path).expect("the check wrote it");
        Manifests(serde_json::from_str(&text).expect("it is JSON"))
    }

    pub(super) fn find(&self, kind: &str, name: &str) -> &Value {
        let is_it = |it: &&Value| it["kind"] == kind && it["metadata"]["name"] == name;
        self.0.iter().find(is_it).unwrap_or_else(|| panic!("there is no {kind} {name}"))
    }

    /// The pod that a workload starts.
    pub(super) fn pod(&self, kind: &str, name: &str) -> &Value {
        &self.find(kind, name)["spec"]["template"]["spec"]
    }

    pub(super) fn pods(&self) -> impl Iterator<Item = &Value> {
        let jobs = self.0.iter().flat_map(|it| [&it["spec"], &it["spec"]["jobTemplate"]["spec"]]);
        jobs.map(|job| &job["template"]["spec"]).filter(|pod| pod.is_object())
    }
}

/// Containers of pods, each with one container, that share volumes and reach each other by name.
pub(super) struct Cluster {
    /// Holds the compose file, and a folder for each volume and secret.
    folder: TempDir,
    project: String,
    services: BTreeMap<String, Value>,
    _machine: MutexGuard<'static, u32>,
}

impl Cluster {
    pub(super) fn new() -> Cluster {
        let machine = machine();
        let project = format!("queens-pods-{}-{}", process::id(), *machine);
        let folder = TempDir::new().expect("a folder can be made");
        // The containers' user reaches its volumes through it.
        set_mode(folder.path(), 0o755);
        Cluster { folder, project, services: BTreeMap::new(), _machine: machine }
    }

    /// Adds the container of a pod, with some of its words replaced.
    pub(super) fn add(&mut self, name: &str, pod: &Value, args: &[(&str, &str)]) {
        let service = self.service(name, pod, args);
        self.services.insert(name.into(), service);
    }

    /// Sets a variable that the manifest does not name.
    pub(super) fn set(&mut self, name: &str, variable: &str, value: &str) {
        self.services.get_mut(name).expect("it was added")["environment"][variable] = value.into();
    }

    /// Starts a container; its id.
    pub(super) fn start(&self, name: &str) -> String {
        run(self.compose().args(["up", "--detach", name]));
        let project = format!("label=com.docker.compose.project={}", self.project);
        let service = format!("label=com.docker.compose.service={name}");
        containers(&[&project, &service]).pop().expect("it was started")
    }

    /// Runs a container to its end, which must be a success; what it printed.
    pub(super) fn run(&self, name: &str) -> String {
        run(self.compose().args(["run", "--rm", "-T", name]))
    }

    /// Makes a secret with these files.
    pub(super) fn make_secret(&self, name: &str, files: &[(&str, &str)]) {
        let folder = self.volume(name);
        for (file, contents) in files {
            fs::write(folder.join(file), contents).expect("it can be written");
        }
    }

    /// The folder of a volume or secret, with the group that `fsGroup` gives it.
    fn volume(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        if !folder.exists() {
            fs::create_dir(&folder).expect("it can be made");
            chown(&folder, None, Some(crate::docker::USER)).expect("the test is run by root");
            set_mode(&folder, 0o2775);
        }
        folder
    }

    /// What the compose tool is told about the container of a pod.
    fn service(&self, name: &str, pod: &Value, args: &[(&str, &str)]) -> Value {
        let [container] = array(&pod["containers"]) else { panic!("{name} has more containers") };
        let (of_pod, own) = (&pod["securityContext"], &container["securityContext"]);
        let word = |word: &Value| {
            let word = text(word);
            args.iter().find(|(old, _)| *old == word).map_or(word, |(_, new)| *new).to_string()
        };
        let environment = array(&container["env"]).iter().map(|variable| {
            let value = match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
                Some("metadata.name") => name,
                Some("spec.nodeName") => "node",
                Some(other) => panic!("{name}: nothing stands for {other}"),
                None => text(&variable["value"]),
            };
            (text(&variable["name"]).to_string(), value.to_string())
        });
        let (volumes, tmpfs) = self.mounts(pod, container);
        let hosts = array(&pod["hostAliases"]);
        let hosts =
            hosts.iter().map(|it| format!("{}:{}", text(&it["hostnames"][0]), text(&it["ip"])));
        let limits = &container["resources"]["limits"];
        json!({
            "image": IMAGE,
            "command": array(&container["args"]).iter().map(word).collect::<Vec<_>>(),
            "environment": environment.collect::<BTreeMap<_, _>>(),
            "user": format!("{}:{}", of_pod["runAsUser"], of_pod["runAsGroup"]),
            "group_add": [of_pod["fsGroup"].to_string()],
            "read_only": own["readOnlyRootFilesystem"],
            "cap_drop": own["capabilities"]["drop"],
            "security_opt": [format!("no-new-privileges:{}", own["allowPrivilegeEscalation"] == false)],
            "mem_limit": text(&limits["memory"]).replace("Mi", "m").replace("Gi", "g"),
            "cpus": limits["cpu"].as_str().map_or(0.0, |cpus| cpus.parse().expect("a number")),
            "volumes": volumes,
            "tmpfs": tmpfs,
            "extra_hosts": hosts.collect::<Vec<_>>(),
        })
    }

    /// The volumes of a container: claims and secrets as folders, and the paths of those in memory.
    fn mounts(&self, pod: &Value, container: &Value) -> (Vec<String>, Vec<String>) {
        let (mut folders, mut in_memory) = (Vec::new(), Vec::new());
        for mount in array(&container["volumeMounts"]) {
            let path = text(&mount["mountPath"]);
            let is_it = |volume: &&Value| volume["name"] == mount["name"];
            let volume = array(&pod["volumes"]).iter().find(is_it).unwrap_or(&Value::Null);
            if volume["emptyDir"].is_object() {
                in_memory.push(path.to_string());
            } else if let Some(secret) = volume["secret"]["secretName"].as_str() {
                let folder = self.volume(secret);
                let mode = volume["secret"]["defaultMode"].as_u64().expect("a mode");
                for file in fs::read_dir(&folder).expect("it can be read") {
                    let file = file.expect("it can be read").path();
                    chown(&file, Some(0), Some(crate::docker::USER))
                        .expect("the test is run by root");
                    set_mode(&file, u32::try_from(mode).expect("a mode"));
                }
                folders.push(format!("{}:{path}:ro", folder.display()));
            } else {
                // A claim, of the pod or (nothing is said about it there) of the stateful set.
                folders.push(format!("{}:{path}", self.volume(text(&mount["name"])).display()));
            }
        }
        (folders, in_memory)
    }

    /// The compose tool, with a file that has all containers.
    fn compose(&self) -> Command {
        let file = self.folder.path().join("docker-compose.json");
        let contents = json!({ "services": self.services });
        fs::write(&file, contents.to_string()).expect("it can be written");
        compose(&file, &self.project)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // No panic here: it could be the second one.
        if thread::panicking() {
            let _ = self.compose().args(["logs", "--no-color", "--tail", "50"]).status();
        }
        let down = ["down", "--volumes", "--remove-orphans", "--timeout", "1"];
        let _ = self.compose().args(down).stderr(Stdio::null()).status();
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode can be set");
}
