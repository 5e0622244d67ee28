//! nginx as a cache in front of a server, with the configuration of `docs/caching.md`.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::fixture::TempDir;
use crate::guide::root;
use crate::wait::eventually;

/// The page with the configuration.
const PAGE: &str = "docs/caching.md";

/// A cache, stopped when this value is dropped. Its addresses are chosen before it is started, so that the settings of a
/// server can contain them.
#[derive(Debug)]
pub struct NginxCache {
    /// Where clients connect to.
    pub address: SocketAddr,
    purges: SocketAddr,
    folder: TempDir,
    process: Option<Child>,
}

impl NginxCache {
    /// Chooses free addresses.
    #[must_use]
    pub fn new() -> Self {
        // Both are bound at the same time, so they differ.
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [address, purges] = listeners.map(|listener| listener.local_addr().expect("its address"));
        Self { address, purges, folder: TempDir::new(), process: None }
    }

    /// Returns the URL of purges.
    #[must_use]
    pub fn purge_url(&self) -> String {
        format!("http://{}/purge", self.purges)
    }

    /// Starts a cache of a server with a command that runs nginx, and waits until it listens. `edit` changes the configuration
    /// of the page.
    ///
    /// # Errors
    /// Returns what nginx has logged instead.
    pub fn start(
        &mut self,
        mut command: Command,
        server: SocketAddr,
        edit: impl FnOnce(String) -> String,
    ) -> Result<(), String> {
        let page = block("cache.nginx")
            .replace("127.0.0.1:4000", &server.to_string())
            .replace("127.0.0.1:8080", &self.address.to_string())
            .replace("127.0.0.1:8081", &self.purges.to_string());
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|name| format!("{name}_temp_path {name};\n")).concat();
        let main = format!(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log nginx.log;\nevents {{}}\nhttp {{\naccess_log off;\n\
             {temporary}{}}}\n",
            edit(page)
        );
        let main = self.folder.write("nginx.conf", &main);
        command.arg("-p").arg(self.folder.path()).args(["-e", "nginx.log", "-c", &main]).stdin(Stdio::null());
        let mut process = command.spawn().map_err(|error| format!("cannot start nginx: {error}"))?;
        let mut has_ended = false;
        let listens = eventually(|| {
            has_ended = process.try_wait().ok().flatten().is_some();
            has_ended || TcpStream::connect(self.address).is_ok()
        });
        self.process = Some(process);
        if listens && !has_ended {
            return Ok(());
        }
        Err(fs::read_to_string(self.folder.path().join("nginx.log")).unwrap_or_default())
    }

    /// Returns the process id.
    ///
    /// # Panics
    /// It was not started.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.as_ref().expect("nginx was started").id()
    }
}

impl Default for NginxCache {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for NginxCache {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill().and_then(|()| process.wait());
        }
    }
}

/// Returns a file of the page.
fn block(name: &str) -> String {
    let page = fs::read_to_string(root().join(PAGE)).expect("the page");
    let (_, rest) = page.split_once(&format!("<!-- file: {name} -->\n")).expect("the file is on the page");
    let (_, rest) = rest.split_once('\n').expect("the fence");
    rest.split_once("\n```").expect("the end of the file").0.to_owned() + "\n"
}
