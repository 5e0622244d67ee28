//! A load generator: each connection sends the next request of a file as soon as it has received the reply to the last.
//! If `wrk` is installed, it is used instead.
//!
//! The file contains complete requests, each terminated by a NUL byte. With `--once` each request is sent once. The result
//! is a line of JSON.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_bench::argument;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Default)]
struct Seen {
    micros: Vec<u32>,
    errors: u64,
}

/// The settings of all clients.
struct Work {
    address: String,
    requests: Vec<Vec<u8>>,
    connections: usize,
    /// The end of the run; `None` sends each request once.
    end: Option<Instant>,
}

fn main() -> Result<(), Error> {
    let address = argument("--address").ok_or("--address HOST:PORT is missing")?;
    let connections: usize = argument("--connections").unwrap_or_else(|| "16".to_owned()).parse()?;
    let threads: usize = argument("--threads").unwrap_or_else(|| "1".to_owned()).parse()?;
    let seconds: f64 = argument("--seconds").unwrap_or_else(|| "3".to_owned()).parse()?;
    let once = std::env::args().any(|argument| argument == "--once");
    let file = std::fs::read(argument("--requests").ok_or("--requests FILE is missing")?)?;
    let requests: Vec<Vec<u8>> =
        file.split(|byte| *byte == 0).filter(|text| !text.is_empty()).map(<[u8]>::to_vec).collect();
    if requests.is_empty() {
        return Err("the file contains no requests".into());
    }
    let start = Instant::now();
    let end = (!once).then(|| start + Duration::from_secs_f64(seconds));
    let work = Arc::new(Work { address, requests, connections, end });
    let running: Vec<_> = (0..threads)
        .map(|thread| {
            let work = Arc::clone(&work);
            let mine = (thread..connections).step_by(threads);
            std::thread::spawn(move || clients(work, mine.collect()))
        })
        .collect();
    let mut all = Seen::default();
    for thread in running {
        let seen = thread.join().map_err(|_| "a thread of the load failed")??;
        all.micros.extend(seen.micros);
        all.errors += seen.errors;
    }
    let elapsed = start.elapsed().as_secs_f64();
    all.micros.sort_unstable();
    let at = |part: usize| all.micros.get(all.micros.len() * part / 100).copied().unwrap_or_default();
    println!(
        "{{\"requests\":{},\"errors\":{},\"seconds\":{elapsed},\"p50\":{},\"p99\":{}}}",
        all.micros.len(),
        all.errors,
        at(50),
        at(99)
    );
    Ok(())
}

/// The clients of one thread.
fn clients(work: Arc<Work>, numbers: Vec<usize>) -> Result<Seen, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        let work = Rc::new(work);
        let running: Vec<_> = numbers
            .into_iter()
            .map(|number| {
                let work = Rc::clone(&work);
                tokio::task::spawn_local(async move { client(&work, number).await })
            })
            .collect();
        let mut all = Seen::default();
        for client in running {
            let seen = client.await?;
            all.micros.extend(seen.micros);
            all.errors += seen.errors;
        }
        Ok(all)
    })
}

async fn client(work: &Work, number: usize) -> Seen {
    let Work { address, requests, connections, end } = work;
    let mut seen = Seen::default();
    let mut buffer = vec![0; 1 << 20];
    let mut stream = None;
    let (first, step, count) = match end {
        Some(_) => (number * requests.len() / connections, 1, usize::MAX),
        None => (number, *connections, requests.len().saturating_sub(number).div_ceil(*connections)),
    };
    for request in requests.iter().cycle().skip(first).step_by(step).take(count) {
        let start = Instant::now();
        if end.is_some_and(|end| start >= end) {
            break;
        }
        let status = match &mut stream {
            Some(stream) => ask(stream, request, &mut buffer).await,
            None => match TcpStream::connect(address).await {
                Ok(mut new) => {
                    let _ = new.set_nodelay(true);
                    let status = ask(&mut new, request, &mut buffer).await;
                    stream = Some(new);
                    status
                }
                Err(error) => Err(error.into()),
            },
        };
        if status.as_ref().is_ok_and(|status| (200..300).contains(status)) {
            seen.micros.push(u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX));
        } else {
            seen.errors += 1;
            if status.is_err() {
                stream = None;
                tokio::task::yield_now().await;
            }
        }
    }
    seen
}

/// Sends a request, reads the reply, which must have a length, and returns its status.
async fn ask(stream: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) -> Result<u16, Error> {
    stream.write_all(request).await?;
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(filled * 2, 0);
        }
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Err("closed".into());
        }
        filled += read;
        let Some(head) = buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let text = std::str::from_utf8(&buffer[..head])?;
        let status = text.get(9..12).ok_or("no status")?.parse()?;
        let length = text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let whole = head + 4 + length.ok_or("no length")?;
        while filled < whole {
            if filled == buffer.len() {
                buffer.resize(whole, 0);
            }
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                return Err("closed".into());
            }
            filled += read;
        }
        return Ok(status);
    }
}
