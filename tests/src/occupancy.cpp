// NVIDIA's occupancy calculator as a filter: `cargo xtask occupancy-check` compiles it, halotile-tests' `occupancy-check`
// talks to it.
//
// A line in, a case:   major minor threads registers static_bytes dynamic_bytes
// A line out, answer:  blocks warps_limit blocks_limit registers_limit shared_limit
// A limit that there is not is 2147483647. Whatever else comes in is an error.
//
// The header has the units and the partitions. What a program would ask of a device is a table here, set down once more from
// the CUDA C++ Programming Guide, so that the two programs share no number.

#include <cstddef>
#include <cstdio>

#include "cuda_occupancy.h"

namespace {

struct Device {
    int major, minor, threads, shared_kib;
};

const Device DEVICES[] = {
    {7, 5, 1024, 64},   {8, 0, 2048, 164},  {8, 6, 1536, 100},  {8, 7, 1536, 164},  {8, 9, 1536, 100},  {9, 0, 2048, 228},
    {10, 0, 2048, 228}, {10, 3, 2048, 228}, {11, 0, 1536, 228}, {12, 0, 1536, 100}, {12, 1, 1536, 100},
};

bool properties_of(int major, int minor, cudaOccDeviceProp *properties) {
    for (const Device &device : DEVICES) {
        if (device.major == major && device.minor == minor) {
            properties->computeMajor = major;
            properties->computeMinor = minor;
            properties->maxThreadsPerBlock = 1024;
            properties->maxThreadsPerMultiprocessor = device.threads;
            properties->regsPerBlock = 65536;
            properties->regsPerMultiprocessor = 65536;
            properties->warpSize = 32;
            properties->sharedMemPerBlock = 48 * 1024;
            properties->sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shared_kib) * 1024;
            properties->numSms = 1;
            properties->reservedSharedMemPerBlock = major >= 8 ? 1024 : 0;
            properties->sharedMemPerBlockOptin =
                properties->sharedMemPerMultiprocessor - properties->reservedSharedMemPerBlock;
            return true;
        }
    }
    return false;
}

}  // namespace

int main() {
    int major, minor, threads, registers;
    unsigned long long fixed, dynamic;
    int read;
    while ((read = std::scanf("%d %d %d %d %llu %llu", &major, &minor, &threads, &registers, &fixed, &dynamic)) == 6) {
        cudaOccDeviceProp properties;
        if (!properties_of(major, minor, &properties)) {
            std::fprintf(stderr, "there is no compute capability %d.%d here\n", major, minor);
            return 1;
        }
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = static_cast<std::size_t>(fixed);
        kernel.numBlockBarriers = 1;
        // As halotile sets it: all the dynamic shared memory that the device has for the kernel.
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = properties.sharedMemPerBlockOptin - kernel.sharedSizeBytes;
        cudaOccDeviceState state;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult found;
        const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&found, &properties, &kernel, &state, threads,
                                                                          static_cast<std::size_t>(dynamic));
        if (error != CUDA_OCC_SUCCESS) {
            std::fprintf(stderr, "cuda_occupancy.h says error %d\n", static_cast<int>(error));
            return 1;
        }
        std::printf("%d %d %d %d %d\n", found.activeBlocksPerMultiprocessor, found.blockLimitWarps,
                    found.blockLimitBlocks, found.blockLimitRegs, found.blockLimitSharedMem);
    }
    if (read != EOF) {
        std::fprintf(stderr, "a case is six numbers\n");
        return 1;
    }
    return 0;
}
