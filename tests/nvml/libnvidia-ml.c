/* A libnvidia-ml.so.1 that plays the machine which a scenario file describes (README.md has its words).
 *
 * Compiled against NVIDIA's own nvml.h, so that every structure and signature is the driver's. The file is named by
 * PODBERTH_NVML_SCENARIO and read again whenever it is another one than before. For one thread.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#include "nvml.h"

enum { GPUS = 64, SLOTS = 8, LINES = 8192 };

struct nvmlDevice_st { int gpu, slot; }; /* slot -1: the GPU itself; else its MIG device */
struct nvmlGpuInstance_st { int gpu, slot; };
struct nvmlEventSet_st { unsigned long long wanted[GPUS]; };

static struct nvmlDevice_st gpus[GPUS], migs[GPUS][SLOTS];
static struct nvmlGpuInstance_st instances[GPUS][SLOTS];

/* ---- the scenario ---------------------------------------------------------------------------------------------- */

static char *text, *keys[LINES], *values[LINES];
static int lines, sessions, generation, events_taken, listings;
static struct stat seen;

static void reload(void)
{
    const char *path = getenv("PODBERTH_NVML_SCENARIO");
    struct stat now;
    if (!path || stat(path, &now)) return;
    if (text && now.st_ino == seen.st_ino && now.st_size == seen.st_size && now.st_mtim.tv_sec == seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    seen = now;
    free(text);
    text = calloc(1, now.st_size + 1);
    lines = 0;
    size_t length = fread(text, 1, now.st_size, file);
    fclose(file);
    text[length] = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && lines < LINES;) {
        char *equals = strstr(line, " = ");
        if (!equals || *line == '#') continue;
        *equals = 0;
        keys[lines] = line;
        values[lines++] = equals + 3;
    }
}

/* The value of a key, of several the last; NULL where there is none. */
static const char *get(const char *format, ...)
{
    char key[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    for (int i = lines; i--;)
        if (!strcmp(keys[i], key)) return values[i];
    return NULL;
}

static long number(const char *value, long otherwise) { return value ? strtol(value, NULL, 0) : otherwise; }

/* What every call begins with: is there a driver, is it the one that was opened, is this call to fail? */
static nvmlReturn_t enter(const char *function, int gpu)
{
    reload();
    while (get("hang.%s", function)) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        reload();
    }
    const char *own = get("fail.%s.%d", function, gpu), *any = get("fail.%s", function);
    if (!number(get("driver.loaded"), 1)) return NVML_ERROR_DRIVER_NOT_LOADED;
    if (!sessions || generation != number(get("driver.generation"), 0)) return NVML_ERROR_UNINITIALIZED;
    if (own || any) return number(own ? own : any, 0);
    return gpu >= 0 && number(get("gpu.%d.lost", gpu), 0) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

#define ENTER(gpu) \
    do { nvmlReturn_t end = enter(__func__, gpu); if (end) return end; } while (0)
/* A value of a GPU, without which it has no such thing. */
#define NEED(name, format, ...) \
    const char *name = get(format, __VA_ARGS__); if (!name) return NVML_ERROR_NOT_SUPPORTED

static void bytes(const char *hex, unsigned char *to, size_t count)
{
    memset(to, 0, count);
    for (size_t i = 0; i < count && sscanf(hex + 2 * i, "%2hhx", to + i) == 1; i++) {}
}

static void pci(int gpu, nvmlPciInfo_t *info)
{
    memset(info, 0, sizeof *info);
    sscanf(get("gpu.%d.pci", gpu), "%x:%x:%x", &info->domain, &info->bus, &info->device);
    snprintf(info->busId, sizeof info->busId, "%08X:%02X:%02X.0", info->domain, info->bus, info->device);
    info->pciDeviceId = strtoul(get("gpu.%d.pciid", gpu), NULL, 16) << 16 | 0x10DE;
}

/* ---- session --------------------------------------------------------------------------------------------------- */

/* The device file of a session, which keeps the driver from being unloaded while somebody has it open. */
static int device_file = -1;

static void note(const char *what)
{
    if (device_file >= 0 && write(device_file, what, strlen(what)) < 0) abort();
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    reload();
    const char *fail = get("fail.%s", __func__);
    if (fail) return number(fail, 0);
    if (!number(get("driver.loaded"), 1)) return NVML_ERROR_DRIVER_NOT_LOADED;
    generation = number(get("driver.generation"), 0);
    const char *device = get("driver.device");
    if (!sessions++ && device) device_file = open(device, O_WRONLY | O_APPEND | O_CLOEXEC);
    note("opened\n");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
    if (!sessions) return NVML_ERROR_UNINITIALIZED;
    if (!--sessions && device_file >= 0) {
        note("closed\n");
        close(device_file);
        device_file = -1;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    ENTER(-1);
    for (*count = 0; *count < GPUS && get("gpu.%u.pci", *count);) ++*count;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    reload();
    ENTER(get("gpu.%u.lost", index) ? -1 : (int)index); /* a handle can be had of a lost GPU */
    if (index >= GPUS || !get("gpu.%u.pci", index)) return NVML_ERROR_INVALID_ARGUMENT;
    gpus[index] = (struct nvmlDevice_st){index, -1};
    *device = &gpus[index];
    return NVML_SUCCESS;
}

/* ---- what a GPU is --------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    ENTER(device->gpu);
    const char *product = get("gpu.%d.name", device->gpu);
    char profile[64] = "";
    if (device->slot >= 0) sscanf(get("gpu.%d.instance.%d", device->gpu, device->slot), "%*d %63s", profile);
    snprintf(name, length, device->slot < 0 ? "%s" : "%s MIG %s", product, profile);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    ENTER(device->gpu);
    const char *kind = device->slot < 0 ? "GPU" : "MIG";
    snprintf(uuid, length, "%s-%08d-%04d-4000-8000-000000000000", kind, device->gpu, device->slot + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
    ENTER(device->gpu);
    *minor = number(get("gpu.%d.minor", device->gpu), device->gpu);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *info)
{
    ENTER(device->gpu);
    pci(device->gpu, info);
    return NVML_SUCCESS;
}

/* Bytes in all and in use, of a GPU or of a MIG device. */
static nvmlReturn_t memory_of(nvmlDevice_t device, unsigned long long *total, unsigned long long *used)
{
    *total = *used = 0;
    if (device->slot >= 0) {
        NEED(row, "gpu.%d.instance.%d.memory", device->gpu, device->slot);
        sscanf(row, "%llu %llu", used, total);
    } else {
        NEED(all, "gpu.%d.memory", device->gpu);
        const char *mode = get("gpu.%d.mig", device->gpu);
        if (get("driver.unprivileged") && number(mode, 0)) return NVML_ERROR_NO_PERMISSION;
        *total = number(all, 0);
        *used = number(get("gpu.%d.used", device->gpu), 0);
    }
    *total <<= 20;
    *used <<= 20;
    return NVML_SUCCESS;
}

/* The driver's own share counts as used here and not in v2. */
enum { RESERVED = 512 << 20 };

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    ENTER(device->gpu);
    unsigned long long total, used;
    nvmlReturn_t end = memory_of(device, &total, &used);
    *memory = (nvmlMemory_t){.total = total, .used = used + RESERVED, .free = total - used - RESERVED};
    return end;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    ENTER(device->gpu);
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_FUNCTION_NOT_FOUND;
    nvmlReturn_t end = memory_of(device, &memory->total, &memory->used);
    memory->reserved = RESERVED;
    memory->free = memory->total - memory->used - RESERVED;
    return end;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    ENTER(device->gpu);
    const char *mode = get("gpu.%d.mig", device->gpu);
    if (number(mode, 0)) return NVML_ERROR_NOT_SUPPORTED; /* as on every GPU in MIG mode */
    NEED(percent, "gpu.%d.utilization", device->gpu);
    *utilization = (nvmlUtilization_t){.gpu = number(percent, 0)};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *info)
{
    ENTER(device->gpu);
    NEED(place, "gpu.%d.platform", device->gpu);
    unsigned int wanted = number(get("platform.version"), 2) == 2 ? nvmlPlatformInfo_v2 : nvmlPlatformInfo_v1;
    unsigned int asked = info->version; /* v1 and v2 are laid out alike */
    char chassis[33] = "";
    sscanf(place, "%32s %hhu %hhu %hhu", chassis, &info->slotNumber, &info->trayIndex, &info->hostId);
    bytes(chassis, info->chassisSerialNumber, sizeof info->chassisSerialNumber);
    /* A GPU of no rack answers with zeros, whatever version it is asked for. */
    return *info->chassisSerialNumber && asked != wanted ? NVML_ERROR_ARGUMENT_VERSION_MISMATCH : NVML_SUCCESS;
}

/* ---- links ----------------------------------------------------------------------------------------------------- */

/* Finds who is at the far end of a link in "switch*18" or "1*12 2*4": a GPU, -1 a switch, -2 nobody. */
static int peer_of(const char *links, unsigned int link)
{
    char copy[256], *rest = copy, *one;
    snprintf(copy, sizeof copy, "%s", links);
    while ((one = strsep(&rest, " "))) {
        char *star = strchr(one, '*');
        unsigned int count = star ? atoi(star + 1) : 0;
        if (link < count) return *one == 's' ? -1 : atoi(one);
        link -= count;
    }
    return -2;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
    ENTER(device->gpu);
    NEED(links, "gpu.%d.links", device->gpu);
    if (link >= 18) return NVML_ERROR_INVALID_ARGUMENT;
    *active = peer_of(links, link) != -2;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t *type)
{
    ENTER(device->gpu);
    NEED(links, "gpu.%d.links", device->gpu);
    int peer = peer_of(links, link);
    *type = peer == -1 ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *info)
{
    ENTER(device->gpu);
    NEED(links, "gpu.%d.links", device->gpu);
    int peer = peer_of(links, link);
    if (peer < 0) return NVML_ERROR_NOT_SUPPORTED;
    pci(peer, info);
    return NVML_SUCCESS;
}

static int has_links(nvmlDevice_t device) { return get("gpu.%d.links", device->gpu) != NULL; }

/* A call about two GPUs fails where either of them is to fail. */
#define ENTER_PAIR(one, other) \
    ENTER((one)->gpu); \
    ENTER((other)->gpu); \
    int low = (one)->gpu < (other)->gpu ? (one)->gpu : (other)->gpu, high = (one)->gpu + (other)->gpu - low

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuTopologyLevel_t *level)
{
    ENTER_PAIR(one, other);
    NEED(found, "pair.%d.%d.level", low, high);
    *level = number(found, 0);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index,
                                    nvmlGpuP2PStatus_t *status)
{
    ENTER_PAIR(one, other);
    int linked = has_links(one) && has_links(other);
    *status = number(get("pair.%d.%d.p2p.%d", low, high, index),
                     linked ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED);
    return NVML_SUCCESS;
}

/* ---- fabric ---------------------------------------------------------------------------------------------------- */

#define FILL(info, gpu) \
    do { \
        memset(&(info)->clusterUuid, 0xAB, sizeof *(info) - offsetof(__typeof__(*(info)), clusterUuid)); \
        const char *uuid = get("gpu.%d.fabric.uuid", gpu); \
        bytes(uuid ? uuid : "", (info)->clusterUuid, 16); \
        (info)->state = number(state, 0); \
        (info)->status = number(get("gpu.%d.fabric.status", gpu), 0); \
        (info)->healthMask = 0; \
    } while (0)

nvmlReturn_t nvmlDeviceGetGpuFabricInfo_v4(nvmlDevice_t device, nvmlGpuFabricInfo_v4_t *info)
{
    ENTER(device->gpu);
    NEED(state, "gpu.%d.fabric.state", device->gpu);
    if (number(get("fabric.version"), 4) < 4) return NVML_ERROR_FUNCTION_NOT_FOUND;
    FILL(info, device->gpu);
    info->healthSummary = number(get("gpu.%d.fabric.health", device->gpu), 0);
    info->numCliques = 0;
    char copy[256], *rest = copy, *one;
    const char *cliques = get("gpu.%d.fabric.cliques", device->gpu);
    snprintf(copy, sizeof copy, "%s", cliques ? cliques : "0:0");
    while ((one = strsep(&rest, " ")) && info->numCliques < NVML_GPU_FABRIC_CLIQUE_MAX) {
        nvmlGpuFabricClique_v1_t *clique = &info->cliques[info->numCliques++];
        sscanf(one, "%hhu:%u", &clique->type, &clique->id);
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    ENTER(device->gpu);
    NEED(state, "gpu.%d.fabric.state", device->gpu);
    long known = number(get("fabric.version"), 4);
    if (info->version == nvmlGpuFabricInfo_v3 && known >= 3) {
        FILL(info, device->gpu);
        info->healthSummary = number(get("gpu.%d.fabric.health", device->gpu), 0);
        info->cliqueId = number(get("gpu.%d.fabric.clique", device->gpu), 0);
        return NVML_SUCCESS;
    }
    if (info->version != nvmlGpuFabricInfo_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlGpuFabricInfo_v2_t *old = (nvmlGpuFabricInfo_v2_t *)info;
    FILL(old, device->gpu);
    old->cliqueId = number(get("gpu.%d.fabric.clique", device->gpu), 0);
    return NVML_SUCCESS;
}

/* ---- MIG ------------------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    ENTER(device->gpu);
    NEED(mode, "gpu.%d.mig", device->gpu);
    sscanf(mode, "%u %u", current, pending);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int profile,
                                                  nvmlGpuInstanceProfileInfo_v2_t *info)
{
    ENTER(device->gpu);
    const unsigned int known = number(get("driver.profiles"), NVML_GPU_INSTANCE_PROFILE_COUNT);
    if (info->version != nvmlGpuInstanceProfileInfo_v2 || profile >= known) return NVML_ERROR_INVALID_ARGUMENT;
    NEED(row, "gpu.%d.profile.%u", device->gpu, profile);
    char name[64];
    sscanf(row, "%63s %u %llu", name, &info->instanceCount, &info->memorySizeMB);
    snprintf(info->name, sizeof info->name, "MIG %s", name);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    ENTER(device->gpu);
    listings++;
    *count = number(get("gpu.%d.mig", device->gpu), 0) ? SLOTS : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int slot, nvmlDevice_t *found)
{
    ENTER(device->gpu);
    /* While a GPU is reconfigured, every listing is another one. */
    int hidden = slot == 0 && get("gpu.%d.restless", device->gpu) && listings % 2;
    if (slot >= SLOTS || hidden || !get("gpu.%d.instance.%u", device->gpu, slot)) return NVML_ERROR_NOT_FOUND;
    migs[device->gpu][slot] = (struct nvmlDevice_st){device->gpu, slot};
    *found = &migs[device->gpu][slot];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
    ENTER(device->gpu);
    if (device->slot < 0) return NVML_ERROR_INVALID_ARGUMENT;
    const char *instance = get("gpu.%d.instance.%d", device->gpu, device->slot);
    if (!instance) return NVML_ERROR_NOT_FOUND;
    *id = number(instance, 0);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *found)
{
    ENTER(device->gpu);
    for (int slot = 0; slot < SLOTS; slot++)
        if (number(get("gpu.%d.instance.%d", device->gpu, slot), -1) == (long)id) {
            instances[device->gpu][slot] = (struct nvmlGpuInstance_st){device->gpu, slot};
            *found = &instances[device->gpu][slot];
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info)
{
    ENTER(instance->gpu);
    const char *row = get("gpu.%d.instance.%d", instance->gpu, instance->slot);
    if (!row) return NVML_ERROR_NOT_FOUND;
    memset(info, 0, sizeof *info);
    info->device = &gpus[instance->gpu];
    sscanf(row, "%u %*s %u %u", &info->id, &info->placement.start, &info->placement.size);
    return NVML_SUCCESS;
}

/* ---- health ---------------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields)
{
    ENTER(device->gpu);
    const char *action = get("gpu.%d.recovery", device->gpu);
    const unsigned int known = number(get("driver.fields"), NVML_FI_MAX);
    for (int i = 0; i < count; i++) {
        int ours = action && fields[i].fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
        fields[i].nvmlReturn = fields[i].fieldId >= known ? NVML_ERROR_INVALID_ARGUMENT
                               : ours                     ? NVML_SUCCESS
                                                          : NVML_ERROR_NOT_SUPPORTED;
        fields[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        fields[i].value.uiVal = number(action, 0);
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *correctable, unsigned int *uncorrectable,
                                       unsigned int *pending, unsigned int *failure)
{
    ENTER(device->gpu);
    NEED(rows, "gpu.%d.remap", device->gpu);
    *correctable = *uncorrectable = 0;
    sscanf(rows, "%u %u", pending, failure);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, nvmlEnableState_t *pending)
{
    ENTER(device->gpu);
    NEED(retired, "gpu.%d.retired", device->gpu);
    *pending = number(retired, 0);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUnrepairableMemoryFlag_v1(nvmlDevice_t device, nvmlUnrepairableMemoryStatus_v1_t *status)
{
    ENTER(device->gpu);
    NEED(broken, "gpu.%d.unrepairable", device->gpu);
    status->bUnrepairableMemory = number(broken, 0);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
                                         unsigned long long *count)
{
    ENTER(device->gpu);
    NEED(errors, "gpu.%d.ecc", device->gpu);
    int ours = type == NVML_MEMORY_ERROR_TYPE_UNCORRECTED && counter == NVML_VOLATILE_ECC;
    *count = ours ? number(errors, 0) : 0;
    return NVML_SUCCESS;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    ENTER(-1);
    *set = calloc(1, sizeof **set);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    free(set);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
    ENTER(device->gpu);
    *types = nvmlEventTypeAll;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
    ENTER(device->gpu);
    if (types & ~nvmlEventTypeAll) return NVML_ERROR_NOT_SUPPORTED;
    set->wanted[device->gpu] = types;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int milliseconds)
{
    const char *given = getenv("PODBERTH_NVML_POLL_MS");
    const unsigned int pause = given && atoi(given) > 0 ? (unsigned int)atoi(given) : 10;
    for (unsigned int waited = 0;; waited += pause) {
        ENTER(-1);
        const char *event = get("event.%d", events_taken);
        int gpu;
        if (event) {
            events_taken++;
            memset(data, 0, sizeof *data);
            sscanf(event, "%d %lli %llu", &gpu, (long long *)&data->eventType, &data->eventData);
            data->device = &gpus[gpu];
            data->gpuInstanceId = data->computeInstanceId = 0xFFFFFFFF;
            if (set->wanted[gpu] & data->eventType) return NVML_SUCCESS;
        }
        for (gpu = 0; gpu < GPUS; gpu++)
            if (set->wanted[gpu] && number(get("gpu.%d.lost", gpu), 0)) return NVML_ERROR_GPU_IS_LOST;
        if (waited >= milliseconds) return NVML_ERROR_TIMEOUT;
        if (nanosleep(&(struct timespec){.tv_sec = pause / 1000, .tv_nsec = pause % 1000 * 1000000L}, NULL))
            return NVML_ERROR_TIMEOUT; /* a signal ends the wait */
    }
}
