/**
 * The machine that a run was made on, for the end of its report.
 */
import { readFileSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { formatBytes } from '../base/units.js';
import type { ReportFact } from './report-input.js';

/** Preduce's version, from the package that this file is part of; null where it was bundled into something else. */
export function packageVersion(): string | null {
  try {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { name, version } = JSON.parse(text) as { name?: unknown; version?: unknown };
    return name === 'preduce' && typeof version === 'string' ? version : null;
  } catch {
    return null;
  }
}

/** Facts about this machine, this Node and this Preduce. */
export function describeEnvironment(version: string | null = packageVersion()): readonly ReportFact[] {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  return [
    ...(version === null ? [] : [{ name: 'Preduce', value: version }]),
    { name: 'Node.js', value: process.version },
    { name: 'System', value: `${platform()} ${release()}, ${arch()}` },
    { name: 'Processor', value: `${model}, ${processors.length} ${processors.length === 1 ? 'core' : 'cores'}` },
    { name: 'Memory', value: formatBytes(totalmem()) },
  ];
}
