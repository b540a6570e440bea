/**
 * The life of a control connection: hello, join, messages, silence, close. Who may come in is handshake.ts's to say.
 */
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { workerId } from '../base/ids.js';
import type { Life } from '../core/events.js';
import { HEARTBEATS_PER_LIVENESS, PROTOCOL_VERSION } from '../wire/limits.js';
import type { WorkerMessage } from '../wire/messages.js';
import type { ControlPeer, ControlPeerHandlers } from './control-server.js';
import { checkConnectionCount, checkHello, checkJoin, checkPlace, type Refusal } from './handshake.js';
import { isResumeSecret } from './resume-secret.js';
import type { RunParts } from './run-parts.js';
import type { Session } from './sessions.js';
import { onWorkerMessage } from './worker-messages.js';

/** Takes a new connection. */
export function acceptConnection(run: RunParts, peer: ControlPeer): ControlPeerHandlers {
  const refusal = checkConnectionCount(run.sessions.waitingCount);
  const session = run.sessions.open(peer);
  if (refusal !== null) refuse(run, session, refusal);
  return {
    onMessage: (message) => onMessage(run, session, message),
    onClose: (error) => onClose(run, session, error),
  };
}

/** Says why not, and closes. */
export function refuse({ story }: RunParts, session: Session, refusal: Refusal): void {
  const { peer } = session;
  peer.send({ type: 'refused', ...refusal });
  peer.close();
  session.state = 'closed';
  story.tell({ type: 'fault', kind: 'refused', worker: null, message: `${peer.remote}: ${refusal.message}` });
}

/** Tells a life that is back that it is over, and closes. */
export function turnAway(
  { story }: RunParts,
  session: Session,
  { reason, rejoin }: { readonly reason: string; readonly rejoin: boolean },
): void {
  const { peer, resume } = session;
  peer.send({ type: 'close', reason, rejoin });
  peer.close();
  session.state = 'closed';
  const message = `${peer.remote}: worker ${resume?.worker} cannot resume: ${reason}`;
  story.tell({ type: 'fault', kind: 'refused', worker: null, message });
}

/** Tells everybody who is a worker of the run, or was to be, that it ends before it is over. */
export function sendAway({ sessions }: RunParts, reason: string): void {
  for (const session of sessions.all()) {
    if (!['greeted', 'joining', 'worker'].includes(session.state)) continue;
    session.peer.send({ type: 'close', reason });
    session.peer.close();
    session.state = 'closed';
  }
}

/** To be called a few times per liveness time-out: finds those that have said nothing for half of it. */
export function checkSilence(run: RunParts): void {
  const { livenessMs } = run.settings;
  const nowMs = performance.now();
  run.evaluations.checkSilence();
  run.servers.checkSilence();
  for (const session of run.sessions.all()) {
    const { state, life } = session;
    const silentMs = nowMs - session.lastHeardMs;
    if (state === 'worker' && life !== null && !session.suspected && silentMs >= livenessMs / 2) {
      session.suspected = true;
      suspect(run, life, `no sign of life for ${Math.round(silentMs)} ms`);
    } else if ((state === 'new' || state === 'greeted') && silentMs >= livenessMs) {
      const expected = state === 'new' ? '"hello"' : '"join", "resume" or a heartbeat';
      const message = `expected ${expected} within the liveness time-out of ${livenessMs} ms, got nothing`;
      refuse(run, session, { code: 'refused', message });
    }
  }
}

function onMessage(run: RunParts, session: Session, message: WorkerMessage): void {
  const isHeartbeat = message.type === 'heartbeat';
  // Heartbeats do not replace a hello.
  if (session.state !== 'new' || !isHeartbeat) session.lastHeardMs = performance.now();
  if (session.suspected && session.life !== null) {
    session.suspected = false;
    run.step({ type: 'resumed', ...session.life });
  }
  if (isHeartbeat && session.state !== 'evaluator' && session.state !== 'server') return;
  switch (session.state) {
    case 'new':
      if (message.type === 'hello') return onHello(run, session, message);
      throw new PreduceError('protocol-violation', `expected "hello" first, got "${message.type}"`);
    case 'greeted':
      if (message.type === 'join') return onJoin(run, session, message);
      if (message.type === 'resume') return onResume(run, session, message);
      throw new PreduceError('protocol-violation', `expected "join" or "resume" after "hello", got "${message.type}"`);
    case 'worker':
      return onWorkerMessage(run, assertPresent(session.life, 'the life of a worker'), message);
    case 'evaluator':
      return run.evaluations.onMessage(message);
    case 'server':
      return session.server?.onMessage(message);
    case 'joining':
    case 'closed':
      return;
    default:
      session.state satisfies never;
  }
}

function onHello(run: RunParts, session: Session, message: Extract<WorkerMessage, { type: 'hello' }>): void {
  const { runId, token, config, encrypts, livenessMs } = run.settings;
  const refusal = checkHello(message, token);
  if (refusal !== null) return refuse(run, session, refusal);
  session.peer.prove();
  const isEvaluator = message.role === 'evaluator';
  if (isEvaluator && run.evaluations.connected) {
    return refuse(run, session, { code: 'refused', message: 'this run has an evaluator already' });
  }
  const isServer = message.role === 'server';
  const noPlace = isServer ? run.servers.checkPlace() : null;
  if (noPlace !== null) return refuse(run, session, noPlace);
  const heartbeatMs = livenessMs / HEARTBEATS_PER_LIVENESS;
  session.peer.send({
    type: 'welcome',
    version: PROTOCOL_VERSION,
    runId,
    config: { ...config },
    heartbeatMs,
    encrypts,
  });
  session.state = isEvaluator ? 'evaluator' : isServer ? 'server' : 'greeted';
  if (isServer) session.server = run.servers.connect(session.peer);
  if (isEvaluator) run.evaluations.connect(session.peer);
}

function onJoin(run: RunParts, session: Session, message: Extract<WorkerMessage, { type: 'join' }>): void {
  const { sessions } = run;
  const requested = message.worker === null ? null : workerId(message.worker);
  const refusal =
    checkJoin(message, sessions.shape) ??
    run.servers.checkWorker(message) ??
    checkPlace(requested, sessions.numberCount + run.servers.count);
  if (refusal !== null) return refuse(run, session, refusal);
  session.state = 'joining';
  session.join = message;
  run.step({ type: 'joined', ticket: session.ticket, requested, hostname: message.hostname });
}

/** A life whose connection was lost, or whose controller is another one now. */
function onResume(run: RunParts, session: Session, message: Extract<WorkerMessage, { type: 'resume' }>): void {
  const life: Life = { worker: workerId(message.worker), incarnation: message.incarnation };
  if (!isResumeSecret(message.secret, run.settings.resumeKey, life)) {
    const reason = `expected the secret of worker ${life.worker}'s life ${life.incarnation}, got another one`;
    return refuse(run, session, { code: 'refused', message: `${reason}: join as a new worker` });
  }
  session.state = 'joining';
  session.resume = message;
  const { doing, k, ready, finite, localSteps, samples, samplesSinceGroup, lease, finished } = message;
  const standing = { doing, k, ready, finite, localSteps, samples, samplesSinceGroup, lease, finished };
  run.step({ type: 'returned', ticket: session.ticket, ...life, standing });
}

function onClose(run: RunParts, session: Session, error: PreduceError | null): void {
  run.sessions.remove(session);
  if (session.state === 'evaluator') return run.evaluations.disconnect();
  if (session.state === 'joining') return run.step({ type: 'joinWithdrawn', ticket: session.ticket });
  if (session.server !== null) return session.server.onClose(error?.message ?? 'its connection closed');
  if (session.state !== 'worker' || session.life === null) return;
  session.suspected = true;
  suspect(run, session.life, error?.message ?? 'its connection closed');
}

function suspect({ story, step }: RunParts, life: Life, reason: string): void {
  story.tell({ type: 'fault', kind: 'suspect', worker: life.worker, message: reason });
  step({ type: 'suspected', ...life, reason });
}
