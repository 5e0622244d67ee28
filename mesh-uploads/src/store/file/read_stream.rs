//! A stream of the bytes of a stored file, which are read in blocks on blocking threads.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};

/// The size of a block in bytes, which limits the memory of a download.
const BLOCK: u64 = 128 * 1024;

/// Streams a range of a file, which must be within the file.
pub(super) fn bytes(mut file: File, range: Range<u64>) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
    file.seek(SeekFrom::Start(range.start))?;
    let left = range.end.saturating_sub(range.start);
    Ok(stream::try_unfold((file, left), next).boxed())
}

async fn next((mut file, left): (File, u64)) -> io::Result<Option<(Bytes, (File, u64))>> {
    if left == 0 {
        return Ok(None);
    }
    let length = left.min(BLOCK);
    // Allocated by the thread that will free it, because allocators retain memory longer if another thread frees it.
    let mut block = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    let read = tokio::task::spawn_blocking(move || {
        file.by_ref().take(length).read_to_end(&mut block)?;
        Ok((block, file))
    });
    let (block, file) = read.await.unwrap_or_else(|error| Err(io::Error::other(error)))?;
    // The file was truncated after it was opened, so the reply cannot be completed.
    let Some(left) = left.checked_sub(block.len() as u64).filter(|_| !block.is_empty()) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    Ok(Some((Bytes::from(block), (file, left))))
}
