/* Whether an end's clock was set while a train came (a card whose clock is kept by PTP, a virtual machine
 * that was moved): delays from before it and from after it have nothing to do with each other, and whatever
 * is reckoned across is wrong.
 *
 * Back: in the order of arrival stamps fall, or departures in the order of sending, by more than their
 * noise. Ahead: between two neighbours the delay grows by more than cross traffic brings in their time, and
 * by CLOCK_STEP_PACKETS that come, and nothing behind comes down to what was before. A path or a host that
 * stood still lets packets catch up. What is less is told apart from a burst of cross traffic by nothing;
 * it counts as a sudden wait (conserve.h). */
#pragma once

#include "probe/points.h"

#define CLOCK_STEP_BACK_NS_LEAST 1000
#define CLOCK_STEP_PACKETS       64u

/* Points: of that record. */
bool clock_step_shows(const struct probe_points *points, const struct train_record *record);
