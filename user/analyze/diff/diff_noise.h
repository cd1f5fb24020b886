/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_noise.h - how much a figure differs without a cause: the recording is compared with itself.
 *
 * Its time has 16 parts, and there are 15 ways to put them into two halves so that any two parts
 * are in different halves in 8 of them (Walsh functions): the first way takes every second part,
 * the last the first and the second half. What two halves of one recording differ by, a load that
 * is the same can differ by. Pure.
 */
#ifndef TAPIR_USER_DIFF_NOISE_H
#define TAPIR_USER_DIFF_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#define TAPIR_DIFF_PARTS  16u
#define TAPIR_DIFF_HALVES (TAPIR_DIFF_PARTS - 1) /* ways to put them into two halves */
#define TAPIR_DIFF_CHANCE 0.01 /* of a difference anywhere in a comparison of one load */

/* A sum over an amount: nanoseconds per second, bytes per request. */
struct tapir_diff_rate {
	bool is_known; /* the amount is not 0 */
	double value;
	double worst; /* the largest difference between two halves */
	double error; /* the standard error, by the differences of all halves */
};

/* Estimates a rate and its error. of, per: the counts and their base, by part of the recording. */
struct tapir_diff_rate tapir_diff_rate__of(const double of[TAPIR_DIFF_PARTS],
					   const double per[TAPIR_DIFF_PARTS]);

/*
 * Returns the factor of a standard error beyond which one of cnt differences lies less than once in
 * a hundred comparisons.
 */
double tapir_diff__factor(uint64_t cnt);

/*
 * Returns the probability that of first + second things that come at one rate so many or more are
 * in the recording that has more than its share; share: of the first recording in the time of both.
 */
double tapir_diff__chance(uint64_t first, uint64_t second, double share);

/*
 * Writes the ranks, from 1, among cnt values between which the quantile of what they are a sample
 * of lies in 99 of 100 cases. False: there are too few values to say so.
 */
bool tapir_diff__ranks(uint64_t cnt, double quantile, uint64_t *low, uint64_t *high);

#endif
