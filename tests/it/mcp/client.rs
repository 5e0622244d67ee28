//! A client of the protocol on standard input and output, line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

use mesh_tests::{PATIENCE, command, eventually};
use serde_json::{Value, json};

/// A running `mesh-server mcp`, stopped when this value is dropped.
pub(super) struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Agent {
    /// Starts the command with these arguments and initializes the protocol.
    pub(super) fn start(arguments: &[&str]) -> Self {
        let mut client = Self::spawn(arguments);
        let reply = client.ask(&initialize());
        assert_eq!(reply["result"]["serverInfo"]["name"], "mesh-server", "{reply}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    /// Starts the command.
    pub(super) fn spawn(arguments: &[&str]) -> Self {
        let all = [&["mcp", "--log", "off"], arguments].concat();
        let mut command = command(&all);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Sends a line.
    pub(super) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").and_then(|()| input.flush()).unwrap();
    }

    /// Reads a line.
    pub(super) fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"))
    }

    /// Sends a message and reads the reply.
    pub(super) fn ask(&mut self, message: &Value) -> Value {
        self.send(&message.to_string());
        self.read()
    }

    /// Calls a tool.
    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask(&super::call(name, arguments))
    }

    /// Closes the input and waits for the end.
    pub(super) fn close(&mut self) -> ExitStatus {
        self.input = None;
        let mut status = None;
        let has_ended = eventually(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap_or_else(|| panic!("the command did not end within {PATIENCE:?}: {has_ended:?}"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the first message of a client.
pub(super) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
    }})
}
