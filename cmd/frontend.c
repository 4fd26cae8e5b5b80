// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/frontend.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/config.h"
#include "cmd/peer.h"
#include "cmd/program.h"
#include "cmd/target.h"
#include "provider/connection.h"
#include "provider/machine.h"
#include "provider/paths.h"

// podman's global options that take a value (contract 0.3), and those of an engine that runs here,
// which a podman on Linux has too.
static bool is_global_with_value(const char *name, size_t length)
{
    static const char *const names[] = {
        "connection",
        "url",
        "host",
        "context",
        "identity",
        "ssh",
        "config",
        "out",
        "tls-ca",
        "tls-cert",
        "tls-key",
        "tls-details",
        "log-level",
        "storage-opt",
        "cgroup-manager",
        "conmon",
        "events-backend",
        "hooks-dir",
        "imagestore",
        "module",
        "network-cmd-path",
        "network-config-dir",
        "root",
        "runroot",
        "runtime",
        "runtime-flag",
        "storage-driver",
        "tmpdir",
        "volumepath",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(names[i], name, length) == 0 && !names[i][length])
            return true;
    return false;
}

// The command line: podman's global options, then words.
struct line {
    char **words;           // from the first word on; ends with NULL
    const char *connection; // --connection
    bool elsewhere;         // --url or --host: the engine is named some other way
    bool foreign; // an option that is not known, or asks for no command: podman's to answer
};

// Options without a value that change nothing about what a command is.
static bool is_plain_flag(const char *word)
{
    static const char *const names[] = {"--remote", "--debug", "--noout"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(word, names[i], strcspn(word, "=")) == 0 && !names[i][strcspn(word, "=")])
            return true;
    return false;
}

static bool is_option(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && (!word[length] || word[length] == '=');
}

static void read_line(struct line *line, char **argv)
{
    char **at = argv + 1;
    for (; *at && (*at)[0] == '-' && (*at)[1]; at++) {
        const char *word = *at, *equals = strchr(word, '=');
        const char *value = equals ? equals + 1 : NULL;
        bool takes = false;
        if (strcmp(word, "--") == 0) {
            at++;
            break;
        }
        if (word[1] == '-') {
            takes = is_global_with_value(word + 2, strcspn(word + 2, "="));
            line->foreign = line->foreign || (!takes && !is_plain_flag(word));
        } else { // bundled letters; c and H take a value, which may be attached
            size_t letters = strcspn(word + 1, "cH");
            takes = word[1 + letters] != '\0';
            line->foreign = line->foreign || strspn(word + 1, "rD") != letters;
            if (takes && word[2 + letters])
                value = word + 2 + letters + (word[2 + letters] == '=');
        }
        if (takes && !value && at[1])
            value = *++at;
        if (is_option(word, "--connection") || is_option(word, "--context") ||
            (word[1] != '-' && strchr(word, 'c')))
            line->connection = value;
        if (is_option(word, "--url") || is_option(word, "--host") ||
            (word[1] != '-' && strchr(word, 'H')))
            line->elsewhere = true;
    }
    line->words = at;
}

// --- words of a machine verb
// ----------------------------------------------------------------------

bool frontend_takes_value(const char *verb, const char *name, char letter)
{
    static const char *const names[] = {
        "cpus",           "disk-size",    "dns",          "for",      "format",      "identity",
        "ignition-path",  "image",        "image-path",   "lines",    "log-level",   "image-sha256",
        "memory",         "host-version", "playbook",     "provider", "storage-opt", "swap",
        "timeout",        "timezone",     "usb",          "username", "user-data",   "volume",
        "volume-driver",  "network",      "network-name", "ssh-port", "shell",       "offload",
        "restart-policy",
    };
    for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    if (name)
        return false;
    if (letter == 'f')
        return strcmp(verb, "info") == 0 || strcmp(verb, "os") == 0;
    if (letter == 'n')
        return strcmp(verb, "logs") == 0;
    return letter == 'm' || (strcmp(verb, "init") == 0 && (letter == 's' || letter == 'v'));
}

struct request {
    const char *verb;
    struct strvec operands;
    const char *provider; // --provider
    bool help;
};

static void request_release(struct request *request)
{
    strvec_release(&request->operands);
}

static void read_option(struct request *request, const char *word, char ***next)
{
    const char *value = NULL;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        cleanup_free char *name = xstrndup(word + 2, length);
        if (word[2 + length])
            value = word + 3 + length;
        else if (frontend_takes_value(request->verb, name, 0) && **next)
            value = *(*next)++;
        if (strcmp(name, "provider") == 0)
            request->provider = value;
        request->help = request->help || strcmp(name, "help") == 0;
        return;
    }
    for (const char *at = word + 1; *at; at++) {
        request->help = request->help || *at == 'h';
        if (!frontend_takes_value(request->verb, NULL, *at))
            continue;
        if (!at[1] && **next)
            (*next)++;
        return;
    }
}

// Options of `machine` itself, the verb, its options and operands.
static void read_request(struct request *request, char **next)
{
    request->verb = "";
    bool options = true;
    while (*next) {
        const char *word = *next++;
        bool first = !*request->verb;
        if (!options || word[0] != '-' || !word[1]) {
            if (first)
                request->verb = word;
            else
                strvec_push(&request->operands, word);
            // What follows is the command that ssh runs.
            if (!first && strcmp(request->verb, "ssh") == 0)
                options = false;
        } else if (strcmp(word, "--") == 0) {
            options = false;
        } else {
            read_option(request, word, &next);
        }
    }
}

// --- whose is it
// ----------------------------------------------------------------------------------

// Whose a machine is. Nobody's is ours to say so.
static bool is_ours(const char *name)
{
    return machine_exists(name) || !peer_has_machine(name, NULL);
}

static bool init_is_ours(const struct request *request, const struct config *config)
{
    const char *variable = getenv("CONTAINERS_MACHINE_PROVIDER");
    const char *chosen = variable ? variable : config->provider;
    // A name that neither knows is ours to refuse: an older podman has no such option.
    if (request->provider)
        return program_has_provider(request->provider) ||
               !program_podman_has_provider(request->provider);
    return program_has_provider(chosen && *chosen ? chosen : program_podman_default());
}

static bool ssh_is_ours(const struct strvec *operands)
{
    const char *first = operands->count ? operands->items[0] : NULL;
    if (first && machine_exists(first))
        return true;
    if (first && peer_has_machine(first, NULL))
        return false;
    return is_ours(default_machine); // the words are a command for it
}

static bool cp_is_ours(const struct strvec *operands)
{
    bool podmans = false;
    for (size_t i = 0; i < operands->count; i++) {
        const char *word = operands->items[i], *colon = strchr(word, ':');
        if (!colon || word[0] == '.' || word[0] == '/')
            continue;
        cleanup_free char *name = xstrndup(word, (size_t)(colon - word));
        if (machine_exists(name))
            return true;
        podmans = podmans || peer_has_machine(name, NULL);
    }
    return !podmans;
}

// Both sides are asked when one call names machines of both.
static bool inspect_is_ours(const struct strvec *operands)
{
    size_t ours = 0;
    for (size_t i = 0; i < operands->count; i++)
        ours += is_ours(operands->items[i]);
    peer_is_asked = ours > 0 && ours < operands->count;
    return operands->count ? ours > 0 : is_ours(default_machine);
}

static bool os_is_ours(const struct strvec *operands)
{
    // `apply IMAGE [NAME]`, `upgrade [NAME]`
    const char *verb = operands->count ? operands->items[0] : "";
    size_t at = strcmp(verb, "apply") == 0 ? 2 : 1;
    return is_ours(operands->count > at ? operands->items[at] : default_machine);
}

static bool is_listed(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static bool request_is_ours(const struct request *request, const struct config *config)
{
    static const char *const all[] = {"list", "ls", "info", "reset", NULL};
    static const char *const own[] = {"", "wait", "env", "logs", "shellenv", "monitor", NULL};
    static const char *const named[] = {"start", "stop", "rm", "set", NULL};
    const char *verb = request->verb;
    const struct strvec *operands = &request->operands;
    peer_is_asked = is_listed(verb, all);
    if (peer_is_asked || is_listed(verb, own))
        return true;
    if (strcmp(verb, "init") == 0)
        return init_is_ours(request, config);
    if (strcmp(verb, "inspect") == 0)
        return inspect_is_ours(operands);
    if (strcmp(verb, "ssh") == 0)
        return ssh_is_ours(operands);
    if (strcmp(verb, "cp") == 0)
        return cp_is_ours(operands);
    if (strcmp(verb, "os") == 0)
        return os_is_ours(operands);
    return is_listed(verb, named) && is_ours(target_name(operands));
}

// --- going there
// ----------------------------------------------------------------------------------

// The machine of ours that the words `podman compose` would reach, if it is one. The caller frees.
static char *connected_machine(const struct line *line)
{
    const char *variable = getenv("CONTAINER_CONNECTION");
    cleanup_free char *chosen = NULL, *uri = NULL;
    struct error ignored;
    if (line->connection || (variable && *variable)) {
        chosen = xstrdup(line->connection ? line->connection : variable);
    } else {
        cleanup_free char *file = paths_connections();
        if (getenv("CONTAINER_HOST") || connection_default(file, &chosen, &uri, &ignored) < 0 ||
            !chosen)
            return NULL;
    }
    if (machine_exists(chosen))
        return steal_string(&chosen);
    size_t length = strlen(chosen);
    if (length > 5 && strcmp(chosen + length - 5, "-root") == 0)
        chosen[length - 5] = '\0';
    return machine_exists(chosen) ? steal_string(&chosen) : NULL;
}

// podman would look for a machine of its own, by the connection's port.
static void help_compose(const struct line *line)
{
    const char *host = getenv("DOCKER_HOST");
    cleanup_free char *name = line->elsewhere || (host && *host) ? NULL : connected_machine(line);
    if (!name)
        return;
    cleanup_free char *socket = machine_path(name, MACHINE_API_SOCKET);
    cleanup_free char *url = xasprintf("unix://%s", socket);
    setenv("DOCKER_HOST", url, 1);
}

static int no_podman(const struct line *line, struct error *err)
{
    return error_set(err, ENOENT,
                     "there is no podman on $PATH for `podman%s%s`: install the podman client, or "
                     "name it in $PODMAN_MACHINE_VMNET_PODMAN",
                     line->words[0] ? " " : "", line->words[0] ? line->words[0] : "");
}

static bool is_completion(const char *word)
{
    return strcmp(word, "__complete") == 0 || strcmp(word, "__completeNoDesc") == 0;
}

// A name can be taken once only: each side would hide the other's machine.
static int check_other_side(const struct request *request, struct error *err)
{
    const char *name = target_name(&request->operands);
    if (machine_exists(name))
        return error_set(err, EEXIST,
                         "machine \"%s\" already exists: it is one of podman-machine-vmnet, not "
                         "of podman",
                         name);
    return 0;
}

int frontend_run(int argc, char **argv, struct error *err)
{
    struct line line = {.words = argv + argc};
    if (argc > 0)
        read_line(&line, argv);
    const char *first = line.words[0] ? line.words[0] : "";
    const char *second = *first && line.words[1] ? line.words[1] : "";
    bool machine = strcmp(first, "machine") == 0 && !line.foreign;
    if (is_completion(first) && strcmp(second, "machine") == 0)
        return 0;

    CLEANUP(config_release) struct config config = CONFIG_INIT;
    CLEANUP(request_release) struct request request = {0};
    if (machine) {
        if (config_load(&config, err) < 0)
            return -1;
        read_request(&request, line.words + 1);
        if (request_is_ours(&request, &config))
            return 0;
        if (strcmp(request.verb, "init") == 0 && !request.help &&
            check_other_side(&request, err) < 0)
            return -1;
    }
    cleanup_free char *podman = peer_find();
    if (!podman)
        return machine ? 0 : no_podman(&line, err);
    if (strcmp(first, "compose") == 0)
        help_compose(&line);
    peer_clean_environment(config.provider);
    log_debug("this is for '%s'", podman);
    return peer_become(podman, argv + (argc > 0), err);
}
