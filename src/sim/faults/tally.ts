/**
 * How often what a scenario is about has happened: a search that never meets it proves nothing.
 */
export interface Tally {
  groups: number;
  aborts: number;
  deaths: number;
  left: number;
  resumes: number;
  releases: number;
  holdsExpired: number;
  leasesGivenAgain: number;
  finalGroups: number;
  fenced: number;
  joinersStarted: number;
  /** Stretches of groups that were checked for connectivity. */
  windows: number;
  /** Runs that ended because no replica was finite. */
  endsNotFinite: number;
  serversLost: number;
  checkpoints: number;
  /** Members that were said to hold a group up. */
  accusations: number;
  /** Runs that went on from a checkpoint after everything had died. */
  crashes: number;
  /** Runs that went on with the same workers after their controller had died. */
  restarts: number;
  /** Lives that were back on another connection. */
  returns: number;
}

export function createTally(): Tally {
  return {
    groups: 0,
    aborts: 0,
    deaths: 0,
    left: 0,
    resumes: 0,
    releases: 0,
    holdsExpired: 0,
    leasesGivenAgain: 0,
    finalGroups: 0,
    fenced: 0,
    joinersStarted: 0,
    windows: 0,
    endsNotFinite: 0,
    serversLost: 0,
    checkpoints: 0,
    accusations: 0,
    crashes: 0,
    restarts: 0,
    returns: 0,
  };
}

export function addTally(sum: Tally, tally: Tally): void {
  for (const key of Object.keys(sum) as (keyof Tally)[]) sum[key] += tally[key];
}
