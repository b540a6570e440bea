/**
 * A plain-text table: the first column left-aligned, the others right-aligned.
 */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** One column of a table that is fitted to a width. */
export interface TableColumn {
  readonly header: string;
  readonly cells: readonly string[];
  /** Columns of the highest rank are left out first; null: never. */
  readonly rank: number | null;
}

/** The table in at most `width` characters a line, as far as leaving columns out can do that. */
export function formatFittedTable(columns: readonly TableColumn[], width: number): string {
  const rows = columns[0]?.cells.map((_, row) => columns.map(({ cells }) => cells[row] ?? '')) ?? [];
  const table = formatTable(
    columns.map(({ header }) => header),
    rows,
  );
  const last = Math.max(...columns.map(({ rank }) => rank ?? Number.NEGATIVE_INFINITY));
  if (table.indexOf('\n') <= width || !Number.isFinite(last)) return table;
  return formatFittedTable(
    columns.filter(({ rank }) => rank !== last),
    width,
  );
}
