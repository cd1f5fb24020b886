// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * native_defects MODE: a native service with one planted defect. Prints "pid N", and for each line
 * of its input what it counted so far, as JSON: "waits": [[from, until], ...] in ns of
 * CLOCK_MONOTONIC, in which its workers were kept from their work; "cpu_ns" that it used.
 */
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

static std::mutex sums_lock;
static std::vector<std::pair<long, long>> waits;
static volatile long result;

static long clock_ns(clockid_t clock)
{
	timespec at;

	clock_gettime(clock, &at);
	return at.tv_sec * 1000000000L + at.tv_nsec;
}

static void count(long from)
{
	std::lock_guard<std::mutex> guard(sums_lock);

	waits.emplace_back(from, clock_ns(CLOCK_MONOTONIC));
}

/* ---- defects ----------------------------------------------------------------------------------- */

class Stock
{
	std::mutex lock;
	std::map<int, std::string> names;

public:
	[[gnu::noinline]] void reserve(int id)
	{
		long from = clock_ns(CLOCK_MONOTONIC);
		std::lock_guard<std::mutex> guard(lock);

		count(from);
		names[id % 100].assign(100, 'x');
		usleep(5000);
	}
};

struct Journal {
	int fd;

	/* An unlinked file of the working directory. */
	Journal() : fd(open(".", O_TMPFILE | O_WRONLY, 0600)) {}
	[[gnu::noinline]] void commit()
	{
		char page[4096] = {1};

		if (pwrite(fd, page, sizeof(page), 0) != sizeof(page) || fdatasync(fd))
			_exit(1);
	}
};

[[gnu::noinline]] static void sort_prices()
{
	std::vector<int> prices(100000);

	for (size_t i = 0; i < prices.size(); i++)
		prices[i] = int(i * 7919 % 100003);
	std::sort(prices.begin(), prices.end());
	result = prices[5];
}

/* Nothing is wrong: four workers wait for work. */
struct Queue {
	std::mutex lock;
	std::condition_variable more;
	int orders = 0;

	void take()
	{
		std::unique_lock<std::mutex> guard(lock);

		more.wait(guard, [this] { return orders > 0; });
		orders--;
	}

	void put()
	{
		{
			std::lock_guard<std::mutex> guard(lock);
			orders++;
		}
		more.notify_one();
	}
};

static std::mutex from_account, to_account;

[[gnu::noinline]] static void transfer(std::mutex &first, std::mutex &second)
{
	first.lock();
	usleep(50000);
	long from = clock_ns(CLOCK_MONOTONIC);
	std::thread([from] { /* it never ends: counted from outside, each 10 ms */
		for (long begin = from;;) {
			usleep(10000);
			count(begin);
			begin = clock_ns(CLOCK_MONOTONIC);
		}
	}).detach();
	second.lock();
}

static void work(const std::string &mode)
{
	static Stock stock;
	static Journal journal;
	static Queue queue;
	std::vector<std::function<void()>> jobs;

	if (mode == "convoy")
		jobs.assign(4, [] { for (int id = 0;; id++) stock.reserve(id); });
	else if (mode == "journal")
		jobs.push_back([] { for (;;) journal.commit(); });
	else if (mode == "sort")
		jobs.push_back([] { for (;;) sort_prices(); });
	else if (mode == "deadlock")
		jobs = {[] { transfer(from_account, to_account); }, [] { transfer(to_account, from_account); }};
	else if (mode == "queue") {
		jobs.assign(4, [] { for (;; usleep(2000)) queue.take(); });
		jobs.push_back([] { for (;; usleep(10000)) queue.put(); });
	}
	for (auto &job : jobs)
		std::thread(job).detach();
}

static void tell()
{
	std::lock_guard<std::mutex> guard(sums_lock);
	const char *between = "";

	printf("{\"cpu_ns\": %ld, \"waits\": [", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	for (auto &wait : waits) {
		printf("%s[%ld, %ld]", between, wait.first, wait.second);
		between = ", ";
	}
	printf("]}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[16];

	if (argc != 2)
		return 2;
	work(argv[1]);
	printf("pid %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		tell();
	_exit(0);
}
