/**
 * A controller without a port: everything behind its connections is real, and whoever has it plays their far ends.
 */
import { createCheckpoints } from '../controller/checkpoints.js';
import { createCoreDriver } from '../controller/core-driver.js';
import { carryOut } from '../controller/effects.js';
import { createEvaluations } from '../controller/evaluations.js';
import type { RunParts } from '../controller/run-parts.js';
import { createRunStory } from '../controller/run-story.js';
import { createServers } from '../controller/servers.js';
import { createSessions } from '../controller/sessions.js';
import { type CoreConfig, defaultCoreConfig } from '../core/config.js';
import { createController } from '../core/controller.js';
import { strategies } from '../core/strategies/strategies.js';

export interface DetachedRun {
  readonly run: RunParts;
  /** Ends its timers. */
  close(): void;
}

/** Throws `bad-config`. */
export function createDetachedRun(overrides: Partial<CoreConfig>): DetachedRun {
  const config = defaultCoreConfig(overrides);
  const core = createController(config);
  const sessions = createSessions();
  const story = createRunStory(undefined);
  const driver = createCoreDriver(core, (effect) => carryOut(run, effect));
  const { livenessMs } = config;
  const settings = { runId: 'r', runKey: 'k', resumeKey: 'r', token: null, encrypts: false, config: {}, livenessMs };
  const run: RunParts = {
    settings,
    core,
    sessions,
    story,
    evaluations: createEvaluations({
      nowMs: story.nowMs,
      expected: false,
      livenessMs,
      peersOf: sessions.peersOf,
      runKey: settings.runKey,
      stateLength: () => sessions.shape?.stateLength ?? 0,
      onEvaluated: () => undefined,
      onFailed: () => undefined,
    }),
    servers: createServers({
      count: strategies[config.strategy].usesServers === true ? config.servers : 0,
      livenessMs,
      runKey: settings.runKey,
      shape: () => sessions.shape,
      peersOf: sessions.peersOf,
      step: driver.step,
      onFault: () => undefined,
    }),
    checkpoints: createCheckpoints({ story, save: null, layout: () => '' }),
    step: driver.step,
    onStarted: () => undefined,
    persist: () => undefined,
    onOver: () => undefined,
  };
  return { run, close: driver.close };
}
