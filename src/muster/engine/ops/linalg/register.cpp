#include "muster/engine/ops/register.h"

#include <cblas.h>

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/linalg/cholesky.h"
#include "muster/engine/ops/linalg/contract.h"
#include "muster/engine/ops/linalg/einsum.h"
#include "muster/engine/ops/linalg/lu.h"
#include "muster/engine/ops/linalg/products.h"
#include "muster/engine/ops/linalg/qr.h"
#include "muster/engine/ops/linalg/svd.h"
#include "muster/engine/ops/linalg/triangular.h"

namespace muster::engine {

void register_linalg_operators(Registry& registry) {
  // Kernels run on all processors already: BLAS in each must not start threads of its own.
  openblas_set_num_threads(1);
  register_cholesky(registry);
  register_contract(registry);
  register_einsum(registry);
  register_lu(registry);
  register_products(registry);
  register_qr(registry);
  register_svd(registry);
  register_triangular(registry);
}

}  // namespace muster::engine
