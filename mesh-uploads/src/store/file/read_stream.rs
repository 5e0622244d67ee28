//! Streams the bytes of a stored file in blocks that are read on blocking threads.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};

/// What is read at once, and so what one download has in memory.
const BLOCK: u64 = 128 * 1024;

/// The bytes of that range, which must lie within the file.
pub(super) fn bytes(mut file: File, range: Range<u64>) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
    file.seek(SeekFrom::Start(range.start))?;
    let left = range.end.saturating_sub(range.start);
    Ok(stream::try_unfold((file, left), next).boxed())
}

async fn next((mut file, left): (File, u64)) -> io::Result<Option<(Bytes, (File, u64))>> {
    if left == 0 {
        return Ok(None);
    }
    let read = tokio::task::spawn_blocking(move || {
        let length = left.min(BLOCK);
        let mut block = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.by_ref().take(length).read_to_end(&mut block)?;
        Ok((block, file))
    });
    let (block, file) = read.await.unwrap_or_else(|error| Err(io::Error::other(error)))?;
    // Fewer bytes than the file had when it was opened: it was cut short since, and the reply cannot be whole.
    let Some(left) = left.checked_sub(block.len() as u64).filter(|_| !block.is_empty()) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    Ok(Some((Bytes::from(block), (file, left))))
}
