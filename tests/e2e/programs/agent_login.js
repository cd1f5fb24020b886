// SPDX-License-Identifier: GPL-2.0-or-later
// A person opens an agent's address, signs in, and looks at the list and at each process of PIDS (a,b), in a headless
// Chromium: node agent_login.js PLAYWRIGHT CHROMIUM URL TOKEN PIDS DIR. Prints what was seen as JSON; screenshots go to DIR.
const [playwright, executablePath, base, token, pids, dir] = process.argv.slice(2);
const {chromium} = require(playwright);

async function walk() {
	const browser = await chromium.launch({executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"]});
	const page = await browser.newPage({viewport: {width: 1280, height: 800}});
	const seen = {problems: [], rows: {}, headings: {}};

	page.on("console", message => message.type() === "error" && seen.problems.push(message.text()));
	page.on("pageerror", error => seen.problems.push(error.message));
	await page.goto(`${base}/`);
	await page.fill("#token", token);
	await page.keyboard.press("Enter");
	await page.waitForSelector("tbody tr");
	await page.screenshot({path: `${dir}/list.png`});
	for (const pid of pids.split(",")) {
		const link = `a[href^="/processes/${pid}?"]`;
		seen.rows[pid] = await page.$eval(link, a => a.closest("tr").innerText);
		await page.click(link);
		seen.headings[pid] = await page.$eval("h1", heading => heading.innerText);
		await page.screenshot({path: `${dir}/process-${pid}.png`, fullPage: true});
		await page.goBack();
		await page.waitForSelector("tbody tr");
	}
	await browser.close();
	console.log(JSON.stringify(seen));
}

walk().catch(error => {
	console.error(error.message);
	process.exit(1);
});
