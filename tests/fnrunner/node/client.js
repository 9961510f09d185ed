// Calls function runners: node client.js < LINES, where each line is a JSON object: "address",
// "certificates" (none, or CA, CERTIFICATE, KEY) and "steps", a list of what to do one after the
// other. Writes a line for each: a JSON list of what came of each step.
"use strict";

const readline = require("node:readline");
const grpc = require("@grpc/grpc-js");
const credentials = require("./credentials");
const { services, types } = require("./protos");

let functions, health, reflection;

function metadataOf(step) {
  const metadata = new grpc.Metadata();
  for (const [key, value] of Object.entries(step.metadata ?? {})) metadata.set(key, value);
  return metadata;
}

function optionsOf(step) {
  return step.seconds === undefined ? {} : { deadline: Date.now() + step.seconds * 1000 };
}

function detailOf(any) {
  const name = any.type_url.split("/").pop();
  const type = types.lookupType(name);
  const found = type.toObject(type.decode(any.value), { bytes: Buffer, longs: Number });
  for (const [key, value] of Object.entries(found)) {
    if (Buffer.isBuffer(value)) found[key] = value.toString("utf8");
  }
  return { type: name, ...found };
}

function detailsOf(metadata) {
  const [found] = metadata.get("grpc-status-details-bin");
  if (found === undefined) return [];
  const status = types.lookupType("google.rpc.Status").decode(found);
  return status.details.map(detailOf);
}

function statusOf(status) {
  return {
    code: grpc.status[status.code],
    message: status.details,
    details: detailsOf(status.metadata),
    digest: status.metadata.get("porchbot-function-digest")[0] ?? "",
  };
}

const steps = {
  evaluate: (step) =>
    new Promise((done) => {
      const list = step.size === undefined ? Buffer.from(step.list ?? "") : Buffer.alloc(step.size, "#");
      const answer = {};
      const call = functions.EvaluateFunction(
        { image: step.image, resource_list: list },
        metadataOf(step),
        optionsOf(step),
        (_error, response) => {
          if (response === undefined) return;
          answer.list = response.resource_list.toString("utf8");
          answer.log = response.log.toString("utf8");
        },
      );
      call.on("status", (status) => setImmediate(() => done({ ...statusOf(status), ...answer })));
      if (step.cancel !== undefined) setTimeout(() => call.cancel(), step.cancel * 1000);
    }),
  check: (step) =>
    new Promise((done) =>
      health.Check({ service: step.service }, (error, response) =>
        done(error ? statusOf(error) : response),
      ),
    ),
  // Tells what it sees at once, and goes on until the runner ends it.
  watch: (step) =>
    new Promise((done) => {
      const seen = [];
      const call = health.Watch({ service: step.service });
      call.on("data", (response) => {
        seen.push(response.status);
        process.stderr.write(`${response.status}\n`);
      });
      call.on("error", (error) => done({ seen, code: grpc.status[error.code] }));
      call.on("end", () => done({ seen, code: "OK" }));
    }),
  reflect: () =>
    new Promise((done, failed) => {
      const answers = [];
      const call = reflection.ServerReflectionInfo();
      call.on("data", (response) => answers.push(response));
      call.on("error", failed);
      call.on("end", () => {
        const [listed, described] = answers;
        done({
          services: listed.list_services_response.service.map((each) => each.name).sort(),
          files: described.file_descriptor_response.file_descriptor_proto.length,
        });
      });
      call.write({ list_services: "*" });
      call.write({ file_containing_symbol: "evaluator.FunctionEvaluator" });
      call.end();
    }),
};

async function carryOut({ address, certificates, steps: wanted }) {
  const open = (Service) =>
    new Service(address, credentials.client(certificates), {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
    });
  functions = open(services.evaluator.FunctionEvaluator);
  health = open(services.grpc.health.v1.Health);
  reflection = open(services.grpc.reflection.v1.ServerReflection);
  const answers = [];
  for (const step of wanted) answers.push(await steps[step.do](step));
  for (const client of [functions, health, reflection]) client.close();
  return answers;
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await carryOut(JSON.parse(line)))}\n`);
  }
}

main();
