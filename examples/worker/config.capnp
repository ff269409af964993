# For workerd, the runtime of Cloudflare Workers. There, the same bindings are secrets and variables of the Worker.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    # The service may run on this machine.
    (name = "internet", network = (allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = "127.0.0.1:3000", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "dist/worker.js")],
  compatibilityDate = "2025-09-01",
  bindings = [
    (name = "JWT_ACCESS_SECRET", fromEnvironment = "JWT_ACCESS_SECRET"),
    (name = "SERVICE_APP_CODE", fromEnvironment = "SERVICE_APP_CODE"),
    (name = "SERVICE_APP_ID", fromEnvironment = "SERVICE_APP_ID"),
    (name = "SERVICE_AUTH_URL", fromEnvironment = "SERVICE_AUTH_URL"),
  ],
);
