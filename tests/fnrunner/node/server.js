// A function runner that answers as Porch's does, without any functions: the image says what to
// answer: node server.js [CA CERTIFICATE KEY]. Writes its port to standard output, and ends when its
// standard input does.
"use strict";

const grpc = require("@grpc/grpc-js");
const credentials = require("./credentials");
const { services } = require("./protos");

const LIMIT = 6 * 1024 * 1024;
const COMPLAINT = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: the label is missing
  severity: error
`;

const fail = (code, details) => ({ error: { code, details } });
const wrapped = (image) =>
  `failed to evaluate function "${image}" with structured results: [error]: the label is missing and stderr: bad`;

const answers = {
  echo: ({ resource_list }) => ({ response: { resource_list, log: Buffer.from("said\n") } }),
  complains: () => ({ response: { resource_list: Buffer.from(COMPLAINT), log: Buffer.alloc(0) } }),
  large: () => ({ response: { resource_list: Buffer.alloc(LIMIT - 100, "#"), log: Buffer.alloc(0) } }),
  fails: ({ image }) =>
    fail(grpc.status.INTERNAL, `Failed to execute function "${image}": exit status 1 (bad label)`),
  "fails-in-a-pod": ({ image }) => fail(grpc.status.INTERNAL, wrapped(image)),
  "fails-behind": ({ image }) =>
    fail(
      grpc.status.INTERNAL,
      `unable to evaluate ${image} with pod evaluator: rpc error: code = Internal desc = ${wrapped(image)}`,
    ),
  garbles: ({ image }) =>
    fail(
      grpc.status.INTERNAL,
      `failed to parse the output of function "${image}" with stderr 'oops': expected exactly one object, got 0`,
    ),
  "has-no-pod": ({ image }) =>
    fail(grpc.status.UNKNOWN, `unable to get the grpc client to the pod for ${image}: timed out`),
  panics: () => fail(grpc.status.UNKNOWN, "runtime error: index out of range"),
  "is-down": () => fail(grpc.status.UNAVAILABLE, "connection refused"),
};
let tries = 0;
const comesBack = (request) => (++tries % 3 ? answers["is-down"](request) : answers.echo(request));

function evaluate(call, callback) {
  const { image } = call.request;
  if (image === "sleeps") return; // until the caller's deadline
  const answer = image === "comes-back" ? comesBack : answers[image];
  if (answer === undefined) {
    callback({ code: grpc.status.NOT_FOUND, details: `function "${image}" not found` });
    return;
  }
  const { error, response } = answer(call.request);
  callback(error ?? null, response);
}

const server = new grpc.Server({
  "grpc.max_receive_message_length": LIMIT,
  "grpc.max_send_message_length": LIMIT,
});
server.addService(services.evaluator.FunctionEvaluator.service, { EvaluateFunction: evaluate });
server.addService(services.grpc.health.v1.Health.service, {
  Check: (_call, callback) => callback(null, { status: "SERVING" }),
  Watch: (call) => {
    call.write({ status: "SERVING" });
    call.end();
  },
});
server.bindAsync("127.0.0.1:0", credentials.server(process.argv.slice(2)), (error, port) => {
  if (error) throw error;
  process.stdout.write(`${port}\n`);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
