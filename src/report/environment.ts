/**
 * The machine that a run was made on, for the end of its report.
 */
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { formatBytes } from '../base/units.js';
import type { ReportFact } from './report-input.js';

/** Facts about this machine and this Node. `version` is Preduce's own, where the caller knows it. */
export function describeEnvironment(version: string | null = null): readonly ReportFact[] {
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
