/**
 * How an option of the program is typed on a command line.
 */

/** `batchSize` as `--batch-size`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
