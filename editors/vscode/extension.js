// Starts `slowpath lsp` and shows its bounds and costs. All work is done by the server.
"use strict";

const { commands, window, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

/** @type {LanguageClient | undefined} */
let client;

/** Start the server with the settings of the workspace. */
async function start() {
  const settings = workspace.getConfiguration("slowpath");
  const server = {
    command: settings.get("command"),
    args: ["lsp", ...settings.get("arguments")],
    options: { cwd: workspace.workspaceFolders?.[0]?.uri.fsPath },
    transport: TransportKind.stdio,
  };
  client = new LanguageClient("slowpath", "slowpath", server, {
    // Headers, because the server analyses their unsaved text, too.
    documentSelector: [
      { scheme: "file", language: "c" },
      { scheme: "file", pattern: "**/*.p4" },
      { scheme: "file", pattern: "**/*.h" },
    ],
    synchronize: {
      fileEvents: workspace.createFileSystemWatcher("**/{*.h,slowpath.toml,pyproject.toml}"),
    },
  });
  try {
    await client.start();
  } catch (problem) {
    client = undefined;
    window.showErrorMessage(
      `slowpath does not start: ${problem.message}. Set slowpath.command to its path.`,
    );
  }
}

/** End the server. */
async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

/** Called by the editor when it opens the first C file. */
async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("slowpath.restart", restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("slowpath")) {
        return restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
