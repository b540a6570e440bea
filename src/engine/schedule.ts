/**
 * Learning-rate schedules: the learning rate as a function of how much of the run is done. Progress is global (the
 * samples of all workers), so that a slow worker's rate falls along with everybody's.
 */

/** The factor on the base learning rate at `progress`, the fraction of the run that is done (0 to 1). */
export type Schedule = (progress: number) => number;

export function constantSchedule(): Schedule {
  return () => 1;
}
