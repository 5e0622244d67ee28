//! `mesh-server health`: requests `/readyz` of the server with these settings, for the health checks of containers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Request, StatusCode};
use http_body_util::Full;

use crate::cli::args::collect_flags;
use crate::cli::client::http_client::HttpClient;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::server::database::block_on;
use crate::cli::settings::load_config;
use crate::config::Config;

/// The time limit of the request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Arguments of `health`.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address of the server [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

pub(crate) fn run(args: &HealthArgs) -> Result<(), Failure> {
    let config = load_config(collect_flags([("listen", &args.listen)]), args.config.as_deref())?;
    let address = address(&config)?;
    let request = Request::get(format!("http://{address}/readyz")).body(Full::<Bytes>::default())?;
    let http = HttpClient::new(false, None)?;
    let reply = block_on(async {
        let reply = tokio::time::timeout(TIMEOUT, http.send(request)).await;
        reply.map_err(|_| Failure::check_failed(format!("no answer from {address} within {TIMEOUT:?}")))?
    })?;
    let (status, body) = (reply.status(), String::from_utf8_lossy(reply.body()));
    if status == StatusCode::OK {
        print(body)
    } else {
        Err(Failure::check_failed(format!("not ready ({}): {body}", status.as_u16())))
    }
}

/// Returns the address of the health checks, as seen from the machine of the server.
fn address(config: &Config) -> Result<SocketAddr, Failure> {
    if config.admin.listen.is_none() && config.tls.files().is_some() {
        return Err(Failure::usage_error(
            "the server uses TLS, and its certificate is not valid for a local address: set 'admin.listen'",
        ));
    }
    let mut address = config.admin.listen.unwrap_or(config.listen);
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    Ok(address)
}
