/**
 * Connections between the controller and simulated workers. Messages of one connection keep their order, those of different ones
 * overtake each other; a silent connection holds them back.
 */
import type { Effect } from '../../core/effects.js';
import type { Life } from '../../core/events.js';
import type { HonestWorker, Report } from './honest-worker.js';

/** One connection, and the life that it became. */
export interface Link {
  readonly ticket: number;
  life: Life | null;
  sim: HonestWorker | null;
  /** The controller said that the life is over. */
  isOver: boolean;
  /** Closed: its worker is gone. Cut: the connection is, with all that was on its way. */
  state: 'open' | 'silent' | 'closed' | 'cut';
  /** The controller knows whose it is. */
  greeted: boolean;
  /** Its worker has said that it leaves. */
  leaving: boolean;
  /** How often it fell silent. */
  silences: number;
  /** When the last message in each direction arrives. */
  lastUpMs: number;
  lastDownMs: number;
  /** Held back while it is silent. */
  readonly outbox: Report[];
  readonly inbox: Effect[];
}

export function createLink(ticket: number, nowMs: number): Link {
  return {
    ticket,
    life: null,
    sim: null,
    isOver: false,
    state: 'open',
    greeted: false,
    leaving: false,
    silences: 0,
    lastUpMs: nowMs,
    lastDownMs: nowMs,
    outbox: [],
    inbox: [],
  };
}

export interface Wires {
  /** Worker to controller. */
  sendUp(link: Link, report: Report): void;
  /** Controller to worker. */
  sendDown(link: Link | undefined, effect: Effect): void;
  close(link: Link | undefined): void;
  fallSilent(link: Link, isFrozen: boolean): void;
  /** Gives whether the worker goes on: not where its life was over meanwhile. Its late messages still arrive. */
  speakAgain(link: Link): boolean;
}

export interface WiresDependencies {
  nowMs(): number;
  at(timeMs: number, act: () => void): void;
  /** How long a message takes that is sent now. */
  latencyMs(): number;
  /** A report arrives at the controller. */
  arrived(life: Life, report: Report): void;
}

export function createWires({ nowMs, at, latencyMs, arrived }: WiresDependencies): Wires {
  function sendUp(link: Link, report: Report): void {
    link.leaving ||= report.type === 'leaving';
    if (link.state === 'silent') link.outbox.push(report);
    if (link.state !== 'open') return;
    link.lastUpMs = Math.max(link.lastUpMs, nowMs() + latencyMs());
    at(link.lastUpMs, () => {
      if (link.state !== 'cut') arrived(link.life as Life, report);
    });
  }

  function close(link: Link | undefined): void {
    if (link === undefined) return;
    link.state = 'closed';
    link.sim?.die();
  }

  return {
    sendUp,
    close,
    sendDown(link, effect) {
      if (link === undefined || link.state === 'closed') return;
      link.lastDownMs = Math.max(link.lastDownMs, nowMs() + latencyMs());
      at(link.lastDownMs, () => {
        if (link.state === 'open') link.sim?.receive(effect);
        else if (link.state === 'silent') link.inbox.push(effect);
      });
    },
    fallSilent(link, isFrozen) {
      link.state = 'silent';
      link.silences += 1;
      if (isFrozen) link.sim?.freeze();
    },
    speakAgain(link) {
      link.state = 'open';
      // Late, if it was declared dead meanwhile
      for (const report of link.outbox.splice(0)) sendUp(link, report);
      if (link.isOver) {
        close(link);
        return false;
      }
      link.sim?.thaw();
      for (const effect of link.inbox.splice(0)) link.sim?.receive(effect);
      return true;
    },
  };
}
