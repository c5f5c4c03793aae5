#pragma once

/// Everything that programs use.

#include "muster/base/buffer.h"                // IWYU pragma: export
#include "muster/base/clock.h"                 // IWYU pragma: export
#include "muster/base/log.h"                   // IWYU pragma: export
#include "muster/base/name.h"                  // IWYU pragma: export
#include "muster/base/result.h"                // IWYU pragma: export
#include "muster/comm/collective/group.h"      // IWYU pragma: export
#include "muster/comm/collective/handle.h"     // IWYU pragma: export
#include "muster/comm/collective/options.h"    // IWYU pragma: export
#include "muster/comm/errc.h"                  // IWYU pragma: export
#include "muster/comm/message/message.h"       // IWYU pragma: export
#include "muster/comm/proxy/dist.h"            // IWYU pragma: export
#include "muster/comm/proxy/options.h"         // IWYU pragma: export
#include "muster/comm/proxy/proxy.h"           // IWYU pragma: export
#include "muster/comm/proxy/register_table.h"  // IWYU pragma: export
