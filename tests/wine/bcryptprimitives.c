// Rust's standard library takes its random numbers from a DLL that every Windows since 7 has and Wine before version 9 has not.
// `cargo xtask` compiles this and puts it into the prefix of such a Wine. It is for tests, and in nothing that is shipped.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID into, ULONG bytes);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE into, SIZE_T bytes)
{
    return SystemFunction036(into, (ULONG)bytes);
}
