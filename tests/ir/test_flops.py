"""Operations that are counted, and which of them are multiply-adds."""

import pytest

from workbench import workloads
from workbench.ir.flops import count_flops, product_share


def test_what_stands_behind_a_sum_is_no_multiply_add():
    func = workloads.depthwise_conv2d_nhwc(8, 8, 16, 3, 1, 1, bias=True, relu=True)
    assert count_flops(func) == 8 * 8 * 16 * (18 + 2)
    assert product_share(func) == pytest.approx(0.9)
    assert product_share(workloads.matmul(8, 8, 8)) == 1.0
    assert product_share(workloads.softmax(8, 8)) == 0.0
