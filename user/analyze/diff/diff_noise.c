// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Statistics on counts and sums by part; nothing here knows what is counted. The noise of a
 * recording is what its own halves differ by: events come in bursts, so Poisson's error alone would
 * call every burst a change.
 */
#include "analyze/diff/diff_noise.h"

#include <math.h>

#define DEVIATIONS 2.58 /* of a binomial distribution: 99 of 100 cases */

/* Returns true if the part is in the first half of the way, 1 to 15. */
static bool is_first(unsigned way, unsigned part)
{
	return !(__builtin_popcount(way & part) & 1);
}

struct tapir_diff_rate tapir_diff_rate__of(const double of[TAPIR_DIFF_PARTS],
					   const double per[TAPIR_DIFF_PARTS])
{
	struct tapir_diff_rate rate = {};
	double all = 0, all_per = 0, squares = 0;
	unsigned cnt = 0;

	for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++) {
		all += of[i];
		all_per += per[i];
	}
	if (all_per <= 0)
		return rate;
	rate.is_known = true;
	rate.value = all / all_per;
	for (unsigned way = 1; way <= TAPIR_DIFF_HALVES; way++) {
		double sums[2] = {}, pers[2] = {}, difference;

		for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++) {
			sums[is_first(way, i)] += of[i];
			pers[is_first(way, i)] += per[i];
		}
		if (pers[0] <= 0 || pers[1] <= 0)
			continue;
		difference = fabs(sums[0] / pers[0] - sums[1] / pers[1]);
		rate.worst = difference > rate.worst ? difference : rate.worst;
		squares += difference * difference;
		cnt++;
	}
	/* A half has twice the variance of the whole, and a difference that of both halves. */
	rate.error = cnt ? sqrt(squares / cnt) / 2 : 0;
	return rate;
}

/* A bound of the normal distribution that leaves room for an error known by few halves. */
double tapir_diff__factor(uint64_t cnt)
{
	return sqrt(2 * log(2 * (double)(cnt ? cnt : 1) / TAPIR_DIFF_CHANCE));
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double tapir_diff__chance(uint64_t first, uint64_t second, double share)
{
	double n = (double)first + (double)second, k, term, sum;

	if (n <= 0 || share <= 0 || share >= 1)
		return 1;
	k = (double)first;
	if (k < n * share) { /* the second has more than its share */
		k = (double)second;
		share = 1 - share;
	}
	term = exp(log_choose(n, k) + k * log(share) + (n - k) * log1p(-share));
	sum = term;
	for (; k < n && term > sum * 1e-12; k++) {
		term *= (n - k) / (k + 1) * share / (1 - share);
		sum += term;
	}
	return sum < 0.5 ? 2 * sum : 1; /* either of the two could have had more */
}

bool tapir_diff__ranks(uint64_t cnt, double quantile, uint64_t *low, uint64_t *high)
{
	double n = (double)cnt, middle = n * quantile;
	double aside = DEVIATIONS * sqrt(n * quantile * (1 - quantile));

	if (middle - aside < 1 || middle + aside + 1 > n)
		return false;
	*low = (uint64_t)(middle - aside);
	*high = (uint64_t)(middle + aside) + 1;
	return true;
}
