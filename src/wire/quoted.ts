/**
 * Text that came from elsewhere, made fit for a message: one short line of printable ASCII. Messages end up on terminals, in
 * logs and in WebSocket close reasons (123 bytes at most), where a peer must not place control characters or megabytes.
 */

const QUOTED_CHARS_MAX = 80;

/** `text` in double quotes, cut after 80 characters, anything but printable ASCII escaped as in JSON. */
export function quoted(text: string): string {
  const shown = text.length > QUOTED_CHARS_MAX ? `${text.slice(0, QUOTED_CHARS_MAX)}...` : text;
  return JSON.stringify(shown).replaceAll(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
