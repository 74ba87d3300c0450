// The key on its way back: an endpoint that repeats it, in a message about a wrong key or by echoing headers, must bring it
// neither into the sandbox nor into results.

/** Puts an asterisk for every sign of the key; so a length stays what its header says. */
export function blank(bytes, key) {
  // Local servers are given keys such as `none`, which are no secrets, but words that answers have.
  if (key.length < SHORTEST_SECRET) return;
  const view = asBuffer(bytes);
  for (let at = view.indexOf(key); at >= 0; at = view.indexOf(key, at)) view.fill("*", at, at + key.length);
}

/** The same stream, whose pieces are looked through, with what may be the beginning of a key held back for the next. */
export function withoutKey(stream, key) {
  if (key.length < SHORTEST_SECRET) return stream;
  let held = Buffer.alloc(0);
  const passing = (read) => (length) => {
    let piece;
    try {
      piece = Buffer.concat([held, read(length)]);
    } catch (thrown) {
      const rest = held;
      held = Buffer.alloc(0);
      if (thrown?.tag === "closed" && rest.length > 0) return rest;
      throw thrown;
    }
    blank(piece, key);
    const passed = piece.length - beginning(piece, key);
    held = piece.subarray(passed);
    return piece.subarray(0, passed);
  };
  stream.read = passing(stream.read.bind(stream));
  stream.blockingRead = passing(stream.blockingRead.bind(stream));
  return stream;
}

/** How many of the last bytes are a beginning of the key. */
function beginning(piece, key) {
  let length = Math.min(piece.length, key.length - 1);
  while (length > 0 && !piece.subarray(-length).equals(Buffer.from(key.slice(0, length)))) length -= 1;
  return length;
}

const asBuffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const SHORTEST_SECRET = 16;
