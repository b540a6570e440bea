/**
 * Every reader of bytes that others may have written.
 */
import { controllerTarget } from './controller-target.js';
import { fileTargets } from './file-targets.js';
import { streamTargets } from './stream-targets.js';
import type { Target } from './target.js';

export const allTargets: readonly Target[] = [...fileTargets, ...streamTargets, controllerTarget];
