// A team's work with openapi-fetch and the types that openapi-typescript made, in hub.d.ts.
// Usage: node FILE HUB TOKEN ORGANISER SERVER URL PHASE PHASE_OF_FILES FILE
import createClient from "openapi-fetch";
import type { components, paths } from "./hub.js";

declare const process: { argv: string[] };
const [hub, token, organiser, server, url, phase, ofFiles, file] = process.argv.slice(2) as [
  string, string, string, string, string, string, string, string,
];
const client = (key: string) =>
  createClient<paths>({ baseUrl: hub, headers: { Authorization: `Bearer ${key}` } });
const team = client(token);
const host = client(organiser);
const oneServer = { params: { path: { server } } };
const onePhase = { params: { path: { phase } } };

type Answer<Data> = { data?: Data; error?: components["schemas"]["Error"] };
function found<Data>({ data, error }: Answer<Data>): Data {
  if (data === undefined) throw new Error(error?.error.message);
  return data;
}
const refusal = ({ error }: Answer<unknown>) => [error?.error.status, error?.error.field];

found(await host.POST("/api/v1/phases/{phase}/open", onePhase));
const body = { server, url, tasks: ["INT"] };
const registered = found(await team.POST("/api/v1/servers", { body })).tested;
const listed = found(await team.GET("/api/v1/servers")).map((one) => one.server);
const [untested] = refusal(await team.POST("/api/v1/servers/{server}/start", oneServer));
const other = { server: "other", url: "no address" };
const wrong = refusal(await team.POST("/api/v1/servers", { body: other }));

const { job } = found(await team.POST("/api/v1/servers/{server}/test", oneServer));
const waiting = { params: { path: { job }, query: { wait: 30 } } };
const report = found(await team.GET("/api/v1/jobs/{job}", waiting)).report;
found(await team.POST("/api/v1/servers/{server}/start", oneServer));
const finished = async () =>
  found(await team.GET("/api/v1/servers/{server}", oneServer)).phases[0]?.state === "finished";
while (!(await finished())) await new Promise((resolve) => setTimeout(resolve, 100));
const attempts = found(
  await team.GET("/api/v1/servers/{server}/attempts", {
    params: { path: { server }, query: { outcome: "ok" } },
  }),
);
const { raw } = found(
  await team.GET("/api/v1/servers/{server}/attempts/{article}/{number}", {
    params: { path: { server, article: "19661423", number: 1 } },
  }),
);
const text = new TextDecoder().decode(Uint8Array.from(atob(raw ?? ""), (one) => one.charCodeAt(0)));

found(await host.POST("/api/v1/phases/{phase}/freeze", onePhase));
found(await host.POST("/api/v1/phases/{phase}/close", onePhase));
const { answer } = found(
  await team.GET("/api/v1/annotations/{article}/{server}", {
    params: { path: { article: "19661423", server } },
  }),
);
const hits = answer.normalizations as { dbid: string; confidence: number }[];
const board = found(
  await team.GET("/api/v1/phases/{phase}/boards/{task}", {
    params: { path: { phase, task: "INT" } },
  }),
);

found(await host.POST("/api/v1/phases/{phase}/open", { params: { path: { phase: ofFiles } } }));
const run = found(
  await team.PUT("/api/v1/phases/{phase}/runs/{task}/{run}", {
    params: { path: { phase: ofFiles, task: "PPI-3D", run: "ours" } },
    body: { content: btoa(file) },
  }),
);
const uploads = found(
  await team.GET("/api/v1/phases/{phase}/boards/{task}", {
    params: { path: { phase: ofFiles, task: "PPI-3D" } },
  }),
);
console.log(
  JSON.stringify({
    registered,
    listed,
    untested,
    wrong,
    passed: report?.passed,
    attempts: attempts.map((one) => [one.article, one.outcome]),
    raw: text.includes("Ångström"),
    hits: hits.map((hit) => [hit.dbid, hit.confidence]),
    board: board.rows.map((row) => [row.run, row.place, row.values.precision]),
    uploaded: [run.run, run.articles],
    uploads: uploads.rows.map((row) => [row.run, row.place]),
  }),
);
