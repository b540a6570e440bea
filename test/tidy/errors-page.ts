/**
 * Reads the table of docs/errors.md: which codes it explains, and how.
 */

/** One row of the table. */
export interface ErrorRow {
  readonly code: string;
  readonly cause: string;
  readonly action: string;
}

/** The rows of every table whose first cell is a code in backticks, in their order. */
export function errorRows(page: string): readonly ErrorRow[] {
  return page.split('\n').flatMap((line) => {
    const match = /^\|\s*`([a-z-]+)`\s*\|(.*)\|(.*)\|\s*$/.exec(line);
    if (match === null) return [];
    const [, code = '', cause = '', action = ''] = match;
    return [{ code, cause: cause.trim(), action: action.trim() }];
  });
}

/** What is wrong with a page that should explain exactly `codes`, each once; empty where nothing is. */
export function errorPageFaults(page: string, codes: readonly string[]): readonly string[] {
  const rows = errorRows(page);
  const explained = rows.map((row) => row.code);
  return [
    ...codes.filter((code) => !explained.includes(code)).map((code) => `${code}: not explained`),
    ...explained.filter((code) => !codes.includes(code)).map((code) => `${code}: no such code`),
    ...explained.filter((code, i) => explained.indexOf(code) !== i).map((code) => `${code}: explained twice`),
    ...rows.filter(({ cause, action }) => cause === '' || action === '').map(({ code }) => `${code}: an empty cell`),
  ];
}
