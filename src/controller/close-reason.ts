/**
 * The reason in a WebSocket close frame: at most 123 bytes of UTF-8 (RFC 6455, 5.5: a control frame carries 125, two of
 * them the code).
 */

const REASON_BYTES_MAX = 123;
const ELLIPSIS = '...';

/** `text`, cut between two characters where it is too long for a close frame. */
export function closeReason(text: string): string {
  if (Buffer.byteLength(text) <= REASON_BYTES_MAX) return text;
  const bytes = new Uint8Array(REASON_BYTES_MAX - ELLIPSIS.length);
  // `encodeInto` never writes part of a character.
  const { written } = new TextEncoder().encodeInto(text, bytes);
  return new TextDecoder().decode(bytes.subarray(0, written)) + ELLIPSIS;
}
