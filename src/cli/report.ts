/**
 * `preduce report`: one self-contained HTML page about runs that lie in directories.
 */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { messageOf, PreduceError } from '../base/errors.js';

interface ReportFlags {
  readonly out?: string;
}

export function addReportCommand(program: Command): void {
  program
    .command('report')
    .description('one self-contained HTML page about runs, or comparisons, that lie in directories')
    .argument('<directories...>', 'run directories, or directories that hold some')
    .option('--out <file>', 'where to write the page (default: report.html in the first directory)')
    .addHelpText(
      'after',
      `
Runs of one name and the same settings, seeds apart, are shown as repeats.

Examples:
  preduce report runs/2026-01-31T09-30-00-compare   a comparison, made anew
  preduce report runs/monday runs/tuesday --out week.html
  preduce report runs/killed                        one that was cut short`,
    )
    .action(runReport);
}

async function runReport(directories: readonly string[], flags: ReportFlags): Promise<void> {
  const [{ loadReport }, { renderReport }] = await Promise.all([
    import('../report/load-report.js'),
    import('../report/render-report.js'),
  ]);
  const input = await loadReport(directories);
  const path = resolve(flags.out ?? join(directories[0] ?? '.', 'report.html'));
  for (const note of input.notes ?? []) process.stderr.write(`preduce: ${note}\n`);
  try {
    await writeFile(path, renderReport(input));
  } catch (error) {
    throw new PreduceError(
      'out-dir-unusable',
      `expected to write ${path}, got "${messageOf(error)}": choose another --out`,
      {
        cause: error,
      },
    );
  }
  process.stdout.write(`${path}\n`);
}
