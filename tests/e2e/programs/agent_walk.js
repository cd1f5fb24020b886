// SPDX-License-Identifier: GPL-2.0-or-later
// A person at the agent's pages, in a headless Chromium: node agent_walk.js PLAYWRIGHT CHROMIUM URL TOKEN PID DIR.
// Prints what was seen as one line of JSON; screenshots go to DIR.
const [playwright, executablePath, base, token, pid, dir] = process.argv.slice(2);
const {chromium} = require(playwright);
const seen = {problems: [], widths: {}};

function note(page) {
	page.on("console", message => message.type() === "error" && seen.problems.push(message.text()));
	page.on("pageerror", error => seen.problems.push(error.message));
	page.on("request", request => request.url().startsWith(base) || seen.problems.push(`elsewhere: ${request.url()}`));
}

const shot = (page, name, more) => page.screenshot({path: `${dir}/${name}.png`, ...more});

async function signIn(page) {
	await page.goto(`${base}/`);
	await page.fill("#token", token); // it has the focus
	await page.keyboard.press("Enter");
	await page.waitForURL(`${base}/`);
	seen.cookies = (await page.context().cookies()).map(({httpOnly, sameSite}) => ({httpOnly, sameSite}));
	seen.readable = await page.evaluate(() => document.cookie);
	await page.waitForSelector("tbody tr");
	await shot(page, "processes");
}

// A number of a chart is not what it was at first.
async function watchCounters(page) {
	await page.click(`a[href^="/processes/${pid}?"]`);
	await page.click("#live button");
	await page.waitForSelector("#live .chart canvas");
	const values = () => page.$$eval("#live .chart output", list => list.map(output => output.value).join());
	const first = await values();
	while (await values() === first)
		await page.waitForTimeout(100);
	seen.charts = await page.$$eval("#live .chart h3", list => list.map(heading => heading.firstChild.data));
	await page.waitForTimeout(4000);
	await page.$eval("#live", section => section.scrollIntoView());
	await shot(page, "counters");
	await page.click("#live button");
	await page.waitForFunction(() => document.querySelector("#live output").value === "stopped");
}

async function record(page) {
	await page.fill("#record input[name=seconds]", "60");
	await page.click("#record button");
	await page.waitForSelector("dl[data-state=recording]");
	const events = () => page.$eval("dd[data-figure=events]", cell => cell.textContent);
	while (["0", ""].includes(await events())) // without the page being loaded again
		await page.waitForTimeout(100);
	await page.click("text=Stop");
	await page.waitForSelector("#findings");
	seen.findings = await page.$eval("#findings", section => section.textContent);
	await shot(page, "session");
	await page.emulateMedia({colorScheme: "dark"});
	await shot(page, "dark");
	await page.selectOption("select[name=format]", "speedscope");
	const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download")]);
	seen.download = download.suggestedFilename();
	await download.saveAs(`${dir}/download`);
}

async function flameGraph(page) {
	await page.click("text=Flame graph");
	const frame = await (await page.waitForSelector("iframe")).contentFrame();
	await frame.waitForFunction(() => document.getElementById("tools").style.display === "inline"); // its script runs
	seen.frame = await frame.evaluate(() => {
		try {
			return document.cookie;
		} catch (error) {
			return error.name; // it belongs to no site
		}
	});
	await page.emulateMedia({colorScheme: "light"});
	await shot(page, "flamegraph");
}

async function narrow(page) {
	await page.setViewportSize({width: 360, height: 740});
	for (const path of ["/", "/sessions", "/health", `/processes/${pid}`, `/processes/${pid}/stacks`]) {
		await page.goto(base + path);
		seen.widths[path] = await page.evaluate(() => document.documentElement.scrollWidth);
		await shot(page, `narrow${path.replaceAll("/", "-")}`);
	}
}

(async () => {
	const browser = await chromium.launch({executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]});
	const page = await (await browser.newContext({viewport: {width: 1100, height: 720}, acceptDownloads: true})).newPage();
	page.setDefaultTimeout(60000);
	note(page);
	await signIn(page);
	await watchCounters(page);
	await record(page);
	await flameGraph(page);
	await page.goto(`${base}/health`);
	await page.waitForSelector("#health canvas");
	await narrow(page);
	await browser.close();
	console.log(JSON.stringify(seen));
})().catch(error => {
	console.error(error.message, JSON.stringify(seen));
	process.exit(1);
});
