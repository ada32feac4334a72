/* Between the prober's two files: what it has found out (prober_results.c), and how it does (prober.c). */
#pragma once

#include "node/train/prober.h"

static inline const struct estimator_kind *kind_of(const struct node *node)
{
    return node->config.probe.estimator;
}

/* What the estimator of the running measurement says now. An estimate that says nothing does not take the place of one that did. */
void prober_note_result(struct node *node, uint64_t now_ns);
/* A job's data says of late what a train could find out. */
bool prober_data_tells(const struct node *node, uint16_t peer, uint64_t now_ns);
/* What is known of the path, of late, by itself: it says something. NULL: nothing. */
const struct estimate *prober_alone(const struct node *node, uint16_t peer, uint64_t now_ns);
/* The measurement for another node has ended: what came of it. */
void prober_answer(struct node *node, enum probe_answer word, uint64_t now_ns);
