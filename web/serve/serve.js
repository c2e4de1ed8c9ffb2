// @ts-check
// The list of files of `pyrometer serve`, and the frame around the page of one of them. All numbers
// come from the server; this shows them, and asks again while something changes.
"use strict";

const PERFETTO = "https://ui.perfetto.dev";
const ASK_MS = 2000;

/** @typedef {{path: string, kind: string, schema?: string, size_bytes: number, modified_ms: number,
 *   duration_ns?: number, is_growing?: boolean}} File_ */
/** @typedef {{state: string, revision: number, kind: string, is_growing: boolean,
 *   is_current: boolean, duration_ns: number, size_bytes: number, message?: string}} State */

/** @template {HTMLElement} T @param {string} id @returns {T} */
const element = (id) => /** @type {T} */ (document.getElementById(id));

/** The token leaves the address bar, so that a copied address or a screenshot has none. */
function takeToken() {
    const address = new URL(location.href);
    const given = address.searchParams.get("token");
    if (given) {
        sessionStorage.setItem("token", given);
        address.searchParams.delete("token");
        history.replaceState(null, "", address);
    }
    return sessionStorage.getItem("token") ?? "";
}

const token = takeToken();

/** @param {string} path */
async function ask(path) {
    const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` } });
    if (response.status === 403)
        throw new Error("the token is missing: open the address that pyrometer serve printed");
    if (response.status === 404) throw new Error("there is no such file");
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response;
}

/** @param {string} text @param {boolean} [failed] */
function say(text, failed = false) {
    const status = element("status");
    if (status.textContent !== text) status.textContent = text;
    status.classList.toggle("failed", failed);
}

/** @param {unknown} error */
const reason = (error) =>
    error instanceof TypeError ? "the server does not answer" : String(/** @type {Error} */ (error).message);

/** @param {number} bytes */
function size(bytes) {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    while (bytes >= 1000 && unit < units.length - 1) {
        bytes /= 1000;
        unit++;
    }
    return `${unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
}

/** @param {number} ns */
function duration(ns) {
    const s = ns / 1e9;
    if (s < 60) return `${s.toFixed(1)} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
    return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
}

/** @param {number} ms */
function age(ms) {
    const s = (Date.now() - ms) / 1000;
    if (s < 60) return "just now";
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
    return new Date(ms).toISOString().slice(0, 10);
}

/** "pyrometer.cost/1" -> "cost result" @param {File_} file */
const kind = (file) =>
    file.schema ? `${file.schema.replace(/^pyrometer\./, "").replace(/\/\d+$/, "")} result` : file.kind;

/** @type {{files: File_[], key: keyof File_, down: boolean}} */
const shown = { files: [], key: "modified_ms", down: true };

/** @param {File_} file */
function row(file) {
    const line = document.createElement("tr");
    const cell = (/** @type {string} */ text, /** @type {string} */ type = "") => {
        const one = line.appendChild(document.createElement("td"));
        one.textContent = text;
        if (type) one.className = type;
        return one;
    };
    if (file.is_growing) line.className = "growing";
    const link = cell("").appendChild(document.createElement("a"));
    link.href = `/view?file=${encodeURIComponent(file.path)}`;
    link.textContent = file.path;
    cell(file.is_growing ? "recording now" : kind(file), file.is_growing ? "live" : "");
    cell(size(file.size_bytes), "number");
    cell(file.duration_ns ? duration(file.duration_ns) : "", "number");
    cell(file.is_growing ? "now" : age(file.modified_ms), "number").title =
        new Date(file.modified_ms).toLocaleString();
    return line;
}

function draw() {
    const words = element("search")["value"].toLowerCase().split(/\s+/).filter(Boolean);
    const value = (/** @type {File_} */ file) => file[shown.key] ?? 0;
    const files = shown.files
        .filter((file) => words.every((word) => `${file.path} ${kind(file)}`.toLowerCase().includes(word)))
        .sort((a, b) => {
            const [x, y] = [value(a), value(b)];
            const order = x < y ? -1 : x > y ? 1 : a.path < b.path ? -1 : 1;
            return shown.down ? -order : order;
        });
    const focused = /** @type {HTMLAnchorElement | null} */ (document.activeElement)?.href;
    element("rows").replaceChildren(...files.map(row));
    if (focused)
        for (const link of element("rows").querySelectorAll("a")) if (link.href === focused) link.focus();
    element("count").textContent =
        files.length === shown.files.length
            ? `${files.length} files`
            : `${files.length} of ${shown.files.length} files`;
    element("empty").hidden = shown.files.length > 0;
    for (const head of document.querySelectorAll("th")) {
        const isKey = head.dataset.key === shown.key;
        if (isKey) head.setAttribute("aria-sort", shown.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
    }
}

async function refreshList() {
    try {
        const answer = await (await ask("/api/files")).json();
        shown.files = answer.files;
        element("title").textContent = answer.folder;
        document.title = `${answer.folder} - pyrometer`;
        say(answer.is_cut ? "the folder has more files than are listed" : "");
        draw();
    } catch (error) {
        say(reason(error), true);
    }
    setTimeout(refreshList, document.hidden ? 5 * ASK_MS : ASK_MS);
}

function startList() {
    element("list").hidden = false;
    element("search").addEventListener("input", draw);
    for (const head of document.querySelectorAll("th"))
        head.querySelector("button")?.addEventListener("click", () => {
            const key = /** @type {keyof File_} */ (head.dataset.key);
            shown.down = shown.key === key ? !shown.down : key !== "path" && key !== "kind";
            shown.key = key;
            draw();
        });
    refreshList();
}

/** Loads a revision behind the shown one, at the same place of the page, and swaps when it is there.
 * @param {string} file @param {number} revision */
function swap(file, revision) {
    const view = element("view");
    const old = /** @type {HTMLIFrameElement | null} */ (view.querySelector("iframe:not(.next)"));
    const place = old?.contentWindow?.location.hash ?? location.hash;
    const query = new URLSearchParams({ file, token, revision: String(revision) });
    const next = document.createElement("iframe");
    view.querySelector("iframe.next")?.remove();
    next.className = "next";
    next.title = `Page of ${file}`;
    next.src = `/page?${query}${place}`;
    next.addEventListener("load", () => {
        const scroll = old?.contentWindow?.scrollY ?? 0;
        next.classList.remove("next");
        for (const other of [...view.children]) if (other !== next) other.remove();
        next.contentWindow?.scrollTo(0, scroll);
        next.dataset.revision = String(revision);
    });
    view.append(next);
}

/** @param {string} file */
function startView(file) {
    let revision = 0;
    element("view").hidden = false;
    element("title").textContent = file;
    document.title = `${file} - pyrometer`;
    element("view").append(Object.assign(document.createElement("p"), { textContent: "Reading the file ..." }));
    element("perfetto").addEventListener("click", () => handOver(file));

    const refresh = async () => {
        let pause = ASK_MS;
        try {
            const state = /** @type {State} */ (
                await (await ask(`/api/page?file=${encodeURIComponent(file)}`)).json()
            );
            element("perfetto").hidden = state.kind === "result";
            if (state.state === "ready" && state.revision !== revision) {
                revision = state.revision;
                swap(file, revision);
            }
            sayState(state);
            if (state.state === "building") pause = 300;
        } catch (error) {
            say(reason(error), true);
        }
        setTimeout(refresh, document.hidden ? 5 * pause : pause);
    };
    refresh();
}

/** @param {State} state */
function sayState(state) {
    if (state.message && (state.state === "failed" || !state.is_current)) {
        say(state.message, true);
        if (state.state === "failed") element("view").querySelector("p")?.remove();
    } else if (state.is_growing) {
        say(`recording: ${duration(state.duration_ns)} so far, the page follows`);
    } else if (state.state === "building") {
        say(`reading ${size(state.size_bytes)}`);
    } else {
        say(state.is_current ? "" : "the file has changed; reading it again");
    }
}

/** Hands a trace to Perfetto's page as its documentation describes: PING until PONG, then the bytes.
 * The window opens at once, because browsers allow that only during a click.
 * @param {string} file */
async function handOver(file) {
    const target = window.open(PERFETTO);
    if (!target) {
        say("the browser blocked the window of Perfetto: allow pop-ups of this page", true);
        return;
    }
    try {
        say("writing the trace for Perfetto");
        const buffer = await perfettoTrace(file);
        await answered(target);
        target.postMessage({ perfetto: { buffer, title: file, fileName: `${file.split("/").pop()}.pftrace` } }, PERFETTO, [buffer]);
        say("handed to Perfetto");
    } catch (error) {
        target.close();
        say(reason(error), true);
    }
}

/** @param {string} file */
async function perfettoTrace(file) {
    const query = `file=${encodeURIComponent(file)}`;
    for (;;) {
        const state = /** @type {State} */ (await (await ask(`/api/perfetto?${query}`)).json());
        if (state.state === "failed") throw new Error(state.message);
        if (state.state === "ready") return (await ask(`/perfetto?${query}`)).arrayBuffer();
        await new Promise((done) => setTimeout(done, 300));
    }
}

/** @param {Window} target @returns {Promise<void>} */
function answered(target) {
    return new Promise((done, failed) => {
        const begun = Date.now();
        const timer = setInterval(() => {
            if (target.closed || Date.now() - begun > 60000) stop(new Error("Perfetto's page did not answer"));
            else target.postMessage("PING", PERFETTO);
        }, 50);
        const listen = (/** @type {MessageEvent} */ event) => {
            if (event.source === target && event.origin === PERFETTO && event.data === "PONG") stop();
        };
        const stop = (/** @type {Error | undefined} */ error = undefined) => {
            clearInterval(timer);
            window.removeEventListener("message", listen);
            if (error) failed(error);
            else done();
        };
        window.addEventListener("message", listen);
    });
}

const file = location.pathname === "/view" ? new URLSearchParams(location.search).get("file") : null;
if (file) startView(file);
else startList();
