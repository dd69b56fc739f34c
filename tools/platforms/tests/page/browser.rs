//! A headless browser under the control of its driver.

use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::support::Port;
use crate::support::process::PATIENCE;

/// The size and the colours of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    pub(crate) dark: bool,
    pub(crate) without_script: bool,
    /// The window's width and height, in pixels.
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The time zone of its place.
    pub(crate) zone: &'static str,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks { dark: false, without_script: false, width: 1_200, height: 1_000, zone: "UTC" }
    }
}

/// A browser that shows one farm.
pub(crate) struct Browser {
    pub(crate) client: Client,
    url: String,
    driver: Driver,
}

/// The process that controls browsers. They end with it.
struct Driver {
    process: Child,
    port: Port,
}

impl Drop for Driver {
    fn drop(&mut self) {
        // If the driver is killed, its browsers stay.
        if let Ok(mut connection) = TcpStream::connect(self.port.address()) {
            let asked = connection.write_all(b"GET /shutdown HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let begun = Instant::now();
            while asked.is_ok()
                && begun.elapsed() < Duration::from_secs(10)
                && matches!(self.process.try_wait(), Ok(None))
            {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts a browser for the farm at `url`. It can reach only this machine.
    pub(crate) async fn start(url: &str, looks: Looks) -> Browser {
        let port = Port::reserve();
        let number = port.address().replace("127.0.0.1:", "");
        let mut command = Command::new("chromedriver");
        command.env("TZ", looks.zone);
        command.arg(format!("--port={number}")).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("Debian's chromium-driver is installed");
        let driver = Driver { process, port };
        let client = connect(&driver.port.url(), looks).await;
        let browser = Browser { client, url: url.into(), driver };
        browser.open("/").await;
        browser
    }

    pub(crate) async fn open(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.url)).await.expect("the farm answers");
    }

    /// Logs in with a secret, after the browser was redirected to the login.
    pub(crate) async fn log_in(&self, secret: &str) {
        let url = self.client.current_url().await.expect("it shows a page");
        assert_eq!(url.path(), "/login", "a stranger is sent to the login");
        let field = self.client.find(Locator::Css("input[name=token]")).await.expect("it asks");
        field.send_keys(secret).await.expect("it can be filled in");
        self.press("button").await;
        self.wait_for("the page of all jobs", async || self.count("#jobs").await == 1).await;
    }

    /// Presses the element that a selector finds.
    pub(crate) async fn press(&self, css: &str) {
        let found = self.client.find(Locator::Css(css)).await;
        found
            .unwrap_or_else(|error| panic!("{css}: {error}"))
            .click()
            .await
            .expect("it can be pressed");
    }

    pub(crate) async fn count(&self, css: &str) -> usize {
        self.client.find_all(Locator::Css(css)).await.map_or(0, |found| found.len())
    }

    /// The text of the first element that a selector finds. It is empty if there is none now.
    pub(crate) async fn text(&self, css: &str) -> String {
        match self.client.find(Locator::Css(css)).await {
            // The page may replace the element between the two calls.
            Ok(found) => found.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Waits until `met`, long enough for slow machines.
    pub(crate) async fn wait_for(&self, what: &str, mut met: impl AsyncFnMut() -> bool) {
        let begun = Instant::now();
        while !met().await {
            if begun.elapsed() > PATIENCE {
                let page = self.client.source().await.unwrap_or_default();
                panic!("waited in vain for {what}:\n{page}");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The value that a script returns in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.expect("the script runs")
    }

    pub(crate) async fn end(self) {
        self.client.close().await.expect("it ends");
        drop(self.driver);
    }
}

async fn connect(driver: &str, looks: Looks) -> Client {
    let capabilities = capabilities(looks);
    let begun = Instant::now();
    loop {
        let mut builder = ClientBuilder::new(HttpConnector::new());
        match builder.capabilities(capabilities.clone()).connect(driver).await {
            Ok(client) => return client,
            Err(error) if begun.elapsed() > PATIENCE => panic!("no browser: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

fn capabilities(Looks { dark, without_script, width, height, .. }: Looks) -> Capabilities {
    let window = format!("--window-size={width},{height}");
    let mut arguments = vec![
        window.as_str(),
        "--headless=new",
        "--no-sandbox", // CI runs as root in a container
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ];
    arguments.extend(dark.then_some("--blink-settings=preferredColorScheme=0"));
    let mut options = json!({ "binary": "/usr/bin/chromium", "args": arguments });
    if without_script {
        options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
    }
    if width < 1_000 {
        // A window cannot be as narrow as this.
        let metrics = json!({ "width": width, "height": height, "pixelRatio": 2.0 });
        options["mobileEmulation"] = json!({ "deviceMetrics": metrics });
    }
    let all = json!({ "acceptInsecureCerts": true, "goog:chromeOptions": options });
    all.as_object().expect("it is an object").clone()
}
